// Search: the index is TILE_SEARCH, an entry for each section and each word that is defined, and lunr finds in it. Titles come first, and what explains a word before
// sections that use it, such as exercises; where a word is found in a program alone, it is shown as such. Arrow keys choose a result, Enter opens it, Escape closes the list.
"use strict";

const TileSearch = (() => {
  const shownResults = 12;
  let index = null, loading = null;

  // The page does not wait for the index, which is loaded when the search is first used.
  const script = (src) => new Promise((onload, onerror) => document.body.append(Object.assign(document.createElement("script"), { src, onload, onerror })));
  const load = () => loading ??= Promise.all([script("lunr.js"), script("search-index.js")]).then(build);

  // The page of all claims repeats what chapters say.
  const isCollected = (entry) => entry.page === "claims.html";
  const isNotebook = (entry) => entry.page.startsWith("notebook");  // after the chapters
  const afterIdea = new Set(["Correctness", "What changed", "Limits", "Break it", "Exercises", "Reproduce"]);  // sections that use its words

  // Names of a program are one word each, and so are the parts of those with dots and underscores. Texts with a hyphen are not: "double-buffering" is two.
  function build() {
    // lunr 2.3 takes two nodes of its automaton for one when their edges read the same, and ends no number: "1" to node 234 reads like "1" to 2
    // and "3" to 4. Words with digits are lost, others are made up, and looking one of those up throws. With an end to each number none is.
    lunr.TokenSet.prototype.toString = function () {
      return this._str || Number(this.final) + Object.keys(this.edges).sort().map((letter) => letter + this.edges[letter].id + ";").join("");
    };
    index = lunr(function () {
      this.ref("at");
      this.field("number");
      this.field("title", { boost: 10 });
      this.field("text");
      this.field("code", { boost: 0.5 });
      this.field("parts", { boost: 0.3, extractor: (entry) => ((entry.text + " " + entry.code).match(/\w*[._]\w[\w.]*/g) || []).join(" ").replace(/[._]+/g, " ") });
      TILE_SEARCH.forEach((entry, at) =>
        this.add({ ...entry, at }, { boost: afterIdea.has(entry.title) || isCollected(entry) || isNotebook(entry) ? 0.5 : 1 }));
    });
  }

  const wordsOf = (text) => text.toLowerCase().split(/[\s-]+/).map((word) => word.replace(/^[^\w.]+|[^\w]+$/g, "")).filter((word) => word);

  const stopWords = new Set(("a an and are be by can do does for from how i in into is it its mean means of on or that the this to use used " +
    "was what when where which who why with work works").split(" "));

  // As the book spells: vectorised (but size and resize), neighbour, behaviour, colour, centre.
  const british = (word) => word.replace(/(?<=\w{3})(?<!s)iz(e|ed|es|er|ers|ing|ation|ations)$/, "is$1").replace(/^(neighb|behavi|col)or/, "$1our").replace(/^center/, "centre");

  // The words that a query asks for: those that stand in most texts only where it has no others, or is a title as it stands.
  function asked(query) {
    const words = wordsOf(query), telling = words.filter((word) => !stopWords.has(word)).map(british);
    const isTitle = TILE_SEARCH.some((entry) => wordsOf(entry.title).join(" ") === words.join(" "));
    return telling.length === 0 || isTitle ? words : telling;
  }

  // Entry number -> score, of a single word: as it stands, its stem, or what begins with it; where there is none, with another letter.
  function scores(word) {
    const exact = index.query((query) => {
      const stem = index.pipeline.runString(word);
      if (stem.length) query.term(stem, { boost: 10 });
      query.term(word, { wildcard: lunr.Query.wildcard.TRAILING });
    });
    const found = exact.length || word.length < 4 ? exact : index.query((query) => query.term(word, { editDistance: 1 }));
    return new Map(found.map((hit) => [Number(hit.ref), hit.score]));
  }

  // How well a title answers: it is the query, it is the query's definition, begins with it, has all of its words, or not.
  function titleRank(entry, words) {
    if (isCollected(entry) && entry.id !== "") return 0;
    const query = words.join(" "), titleWords = wordsOf(entry.title), title = titleWords.join(" ");
    if (entry.forms) return entry.forms.includes("|" + query + "|") ? 2.8 : 0;
    const rank = entry.number === query ? 4 : title === query ? 3 : title.startsWith(query) ? 2
      : words.every((word) => titleWords.some((one) => one.startsWith(word))) ? 1 : 0;
    return rank + (rank > 0 && entry.id === "" ? 0.5 : 0) - (isNotebook(entry) ? 0.3 : 0);  // the page before its sections
  }

  /// The entries that answer a query, the best first: those with all words, or with any where none has all. After load().
  function find(query) {
    const words = asked(query);
    if (words.join("").length < 2) return [];
    const each = words.map(scores), total = (at) => each.reduce((sum, found) => sum + (found.get(at) || 0), 0);
    const hits = TILE_SEARCH.map((entry, at) => ({
      entry, rank: titleRank(entry, words), score: total(at), all: each.every((found) => found.has(at)),
    })).filter((hit) => hit.rank > 0 || hit.score > 0);
    const best = hits.filter((hit) => hit.rank > 0 || hit.all);
    const parts = query.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/[._]+/g, " ");  // atomicAdd, LDG.128
    if (hits.length === 0 && parts !== query) return find(parts);
    const sorted = (best.length ? best : hits).sort((a, b) => b.rank - a.rank || b.score - a.score).map((hit) => hit.entry);
    return Object.assign(sorted, { some: best.length === 0 });
  }

  // The text around the first hit, which is marked.
  function snippet(entry, words) {
    const pattern = new RegExp("(^|[^\\w])((?:" + words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")\\w*)", "i");
    const inText = pattern.exec(entry.text);
    const source = inText ? entry.text : entry.code, found = inText || pattern.exec(entry.code);
    if (!found) return [entry.text.slice(0, 110)];
    const begin = found.index + found[1].length, end = begin + found[2].length;
    const from = begin < 50 ? 0 : source.indexOf(" ", begin - 50) + 1 || begin;
    return [(inText ? "" : "in the program: ") + (from > 0 ? "… " : "") + source.slice(inText ? from : begin, begin),
      element("mark", {}, source.slice(begin, end)), inText ? source.slice(end, end + 70) + "…" : ""];
  }

  const element = (tag, properties, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  function item(entry, words, number) {
    const link = element("a", { href: entry.page + (entry.id ? "#" + entry.id : ""), tabIndex: -1 },
      element("span", { className: "result-title" }, (entry.number && entry.id ? entry.number + " " : "") + entry.title));
    if (entry.id) link.append(element("small", {}, entry.chapter));
    link.append(element("span", { className: "snippet" }, ...snippet(entry, words)));
    return element("li", { id: "result-" + number, role: "option" }, link);
  }

  /// Makes an input search, and show what it finds in a list.
  function attach(input, results) {
    let chosen = -1;
    const items = () => [...results.querySelectorAll("[role=option]")];

    function choose(number) {
      const all = items();
      chosen = all.length ? (number + all.length) % all.length : -1;
      all.forEach((one, i) => one.setAttribute("aria-selected", String(i === chosen)));
      if (chosen < 0) return input.removeAttribute("aria-activedescendant");
      input.setAttribute("aria-activedescendant", all[chosen].id);
      all[chosen].scrollIntoView({ block: "nearest" });
    }

    function open(shown) {
      results.hidden = !shown;
      input.setAttribute("aria-expanded", String(shown));
    }

    async function show() {
      await load();
      const query = input.value.trim();
      results.replaceChildren();
      choose(0);
      open(query.length >= 2);
      if (results.hidden) return;
      const found = find(query);
      if (found.some) results.append(element("li", { className: "nothing" }, found.length ? "No section has all of these words. Some have a few:" : "Nothing found."));
      results.append(...found.slice(0, shownResults).map((entry, i) => item(entry, asked(query), i)));
    }

    input.addEventListener("input", show);
    input.addEventListener("focus", () => { input.value.trim() ? show() : load(); });
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        choose(event.key === "ArrowDown" ? chosen + 1 : chosen < 0 ? -1 : chosen - 1);
      } else if (event.key === "Escape") {
        open(false);
        input.blur();
      }
    });
    input.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const link = (items()[Math.max(chosen, 0)] || results).querySelector("a");
      if (link) link.click();
      open(false);
    });
    document.addEventListener("pointerdown", (event) => { if (!input.form.contains(event.target)) open(false); });
  }

  return { load, find, attach };
})();
