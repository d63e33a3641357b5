// Theme switch, search, and turning pages from the keyboard.
"use strict";

(function () {
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark"
                                    : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem("tile-theme", root.dataset.theme);
    } catch (error) {
      // The choice then lasts for this page.
    }
  });

  const input = document.getElementById("search");
  const results = document.getElementById("results");
  let index = null;

  function build() {
    index = lunr(function () {
      this.ref("at");
      this.field("title", { boost: 5 });
      this.field("text");
      TILE_SEARCH.forEach((entry, at) => this.add({ at, title: entry.title, text: entry.text }));
    });
  }

  function show() {
    const words = input.value.trim();
    results.replaceChildren();
    results.hidden = words.length < 2;
    if (results.hidden) return;
    if (!index) build();
    const found = index.query((query) => {
      for (const token of lunr.tokenizer(words)) {
        const word = token.toString();
        query.term(index.pipeline.runString(word), { boost: 10 });
        query.term(word, { wildcard: lunr.Query.wildcard.TRAILING });
      }
    });
    for (const hit of found.slice(0, 12)) {
      const entry = TILE_SEARCH[hit.ref];
      const link = document.createElement("a");
      link.href = entry.page + (entry.id ? "#" + entry.id : "");
      link.textContent = entry.title;
      const where = document.createElement("small");
      where.textContent = entry.chapter;
      link.append(where);
      const item = document.createElement("li");
      item.append(link);
      results.append(item);
    }
    if (found.length === 0) results.append(Object.assign(document.createElement("li"), { textContent: "Nothing found." }));
  }

  input.addEventListener("input", show);
  input.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = results.querySelector("a");
    if (first) location.href = first.href;
  });

  // Narrow windows start with the contents folded.
  if (matchMedia("(max-width: 1099px)").matches) document.querySelector(".toc details").open = false;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input, select, [tabindex]");
    if (event.key === "Escape") {
      results.hidden = true;
      input.blur();
    } else if (event.key === "/" && !typing) {
      event.preventDefault();
      input.focus();
    } else if (!typing && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      const link = document.querySelector(event.key === "ArrowLeft" ? "a[rel=prev]" : "a[rel=next]");
      if (link) location.href = link.href;
    }
  });
})();
