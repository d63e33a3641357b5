// Search, permalinks, copy buttons, where a number comes from, and turning pages from the keyboard.
"use strict";

(function () {
  const make = (tag, properties) => Object.assign(document.createElement(tag), properties);

  const search = document.getElementById("search");
  TileSearch.attach(search, document.getElementById("results"));

  // Narrow windows start with the contents folded. Beside the text they are long, and begin at this page and its sections.
  const contents = document.querySelector(".toc"), here = contents.querySelector("[aria-current]");
  if (matchMedia("(max-width: 1099px)").matches) contents.querySelector("details").open = false;
  else if (here) contents.scrollTop += here.getBoundingClientRect().top - contents.getBoundingClientRect().top - 70;

  // They mark the section being read, and keep it in view.
  const links = [...contents.querySelectorAll(".on-this-page > ul > li > a")];
  const places = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  let read;
  function follow() {
    const atEnd = scrollY + innerHeight > document.documentElement.scrollHeight - 2;
    const now = links[places.findLastIndex((place) => place && (atEnd || place.getBoundingClientRect().top < innerHeight / 3))];
    if (now === read) return;
    if (read) read.classList.remove("read");
    read = now;
    if (!read) return;
    read.classList.add("read");
    const frame = contents.getBoundingClientRect(), box = read.getBoundingClientRect();
    if (box.top < frame.top + 40 || box.bottom > frame.bottom - 40) contents.scrollTop += box.top - frame.top - frame.height / 3;
  }
  addEventListener("scroll", follow, { passive: true });
  follow();

  // Links to sections, for whoever wants to point at one.
  for (const heading of document.querySelectorAll("article :is(h1, h2, h3)[id]")) {
    const link = make("a", { className: "permalink", href: "#" + heading.id, textContent: "#" });
    link.setAttribute("aria-label", "link to “" + heading.textContent + "”");
    heading.append(link);
  }

  // What is folded opens for whoever comes to a place in it, to the heading above it or to the listing that it is, and for paper.
  function unfoldPlace() {
    const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!place) return;
    const next = place.nextElementSibling;
    const folded = place.closest("details") || (/^H\d$/.test(place.tagName) && next && next.matches("details") && next) ||
      place.querySelector(".folded");
    if (!folded || folded.open) return;
    folded.open = true;
    place.scrollIntoView();
  }
  addEventListener("hashchange", unfoldPlace);
  unfoldPlace();
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("article details")) folded.open = true;
  });

  // On a telephone a table of few rows that does not fit has a block for each row, in which each cell says what it is of.
  const mostBlocks = 30, telephone = 480;
  function inBlocks(table) {
    table.classList.add("blocks");
    const heads = [...table.tHead.rows[0].cells], rows = [...table.tBodies[0].rows];
    const nameless = (row) => row.cells[0].matches(".number") && heads[1].textContent.includes(" ");
    const titled = heads.length > 3 && heads[0].textContent.trim() && rows.every((row) => row.cells[1].matches(".brief") && !nameless(row));  // by its first two cells
    for (const row of rows)
      for (const [i, cell] of [...row.cells].entries()) {
        const words = cell.textContent.trim(), head = heads[i].textContent.trim();
        if (i > 0 && head === "of") {  // says what the cell before is of
          row.cells[i - 1].append(` (${words})`);
          cell.classList.add("in-title");
        } else if (i === 1 && titled) {
          const title = make("span", { className: "with-title" });
          title.append(" · ", ...cell.cloneNode(true).childNodes);
          row.cells[0].append(title);
          cell.classList.add("in-title");
        } else if (head && words && (i > 0 || cell.matches(".number"))) {
          const name = make("span", { className: "head" });
          name.append(...heads[i].cloneNode(true).childNodes, ": ");
          cell.prepend(name);
        }
        if (words === "–") cell.classList.add("nothing");
      }
    // What does not fit into half a row takes a whole one, and with it what stands in other rows below the same head.
    table.classList.add("unbroken");
    const wide = new Set([...table.querySelectorAll("td")].filter((cell) => cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.cellIndex));
    table.classList.remove("unbroken");
    for (const cell of table.querySelectorAll("td")) cell.classList.toggle("whole", wide.has(cell.cellIndex));
  }
  function fit(frame) {
    const table = frame.matches("table") ? frame : frame.querySelector(":scope > table");
    if (table && !table.matches(".blocks") && table.tHead && table.tBodies[0].rows.length <= mostBlocks && frame.clientWidth < telephone &&
        frame.scrollWidth > frame.clientWidth + 1)
      inBlocks(table);
  }
  addEventListener("DOMContentLoaded", () => {
    const frames = [...document.querySelectorAll("article .scroll, :not(.scroll, .equal) > table")].filter((frame) => !frame.closest(".live"));
    const fitAll = () => frames.forEach(fit);
    fitAll();
    addEventListener("resize", fitAll);
    document.fonts.ready.then(fitAll);
    frames.forEach((frame) => new ResizeObserver(() => fit(frame)).observe(frame));  // also of what is unfolded
  });

  // Programs to copy, without the numbers of their lines and what was counted of them.
  const programOf = (box) => {
    const lines = [...box.querySelectorAll(".line")];
    return lines.length ? lines.map((line) => line.textContent).join("") : box.querySelector("pre").textContent;
  };
  for (const box of document.querySelectorAll("article .listing .code-frame, article > div.sourceCode, article > pre")) {
    let frame = box;
    if (box.tagName === "PRE") {
      box.replaceWith(frame = make("div", {}));
      frame.append(box);
    }
    frame.classList.add("copyable");
    if (!navigator.clipboard) continue;  // a page that is neither on this machine nor encrypted
    const button = make("button", { type: "button", className: "copy", textContent: "Copy" });
    button.addEventListener("click", () => {
      const say = (words) => () => { button.textContent = words; };
      navigator.clipboard.writeText(programOf(frame)).then(say("Copied"), say("Not copied"));
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    frame.append(button);
  }

  // Beside a number that is pointed at, touched or reached by the keyboard: its key, and the line it comes from. Beside words that compare numbers, if
  // they are clicked, touched or reached so: the expression and its values. At a reference to something on this page, what it refers to. Only one at a time.
  const note = make("aside", { id: "number-note", className: "number-note", hidden: true });
  note.setAttribute("role", "note");
  document.querySelector("article").append(note);
  let noted = null;
  const referred = new Map();  // from a link to the figure, table, listing or source that it refers to
  function copyOf(target) {
    const copy = target.cloneNode(true);
    for (const part of copy.querySelectorAll("[id], button, .live")) part.matches("[id]") ? part.removeAttribute("id") : part.remove();
    copy.removeAttribute("id");
    copy.inert = true;
    return copy;
  }
  function partsOf(number) {
    if (referred.has(number)) return [copyOf(referred.get(number))];
    const claim = number.matches(".claim");
    const [, kind, code, values] = (claim ? /^(.*?): (.*?)  \((.*)\)$/ : /^(.*?) \((.*)\)$/).exec(claim ? number.title : number.dataset.title);
    return [make("span", { className: "note-kind", textContent: kind }), make("code", { textContent: code }),
      claim ? make("span", { textContent: values }) : make("a", { href: number.href, textContent: number.dataset.at, tabIndex: -1 })];
  }
  function showNote(number) {
    if (noted === number) return;
    noted = number;
    note.replaceChildren(...partsOf(number));
    note.classList.toggle("preview", referred.has(number));
    note.hidden = false;
    const article = note.parentElement.getBoundingClientRect(), at = number.getBoundingClientRect();
    const wide = matchMedia("(min-width: 1280px)").matches && !referred.has(number);
    const beside = Math.min(at.left - article.left, article.width - note.offsetWidth);
    const below = at.bottom + 6 + note.offsetHeight < innerHeight || at.top < note.offsetHeight + 70;  // otherwise above
    note.style.top = (wide ? at.top : below ? at.bottom + 6 : at.top - 6 - note.offsetHeight) - article.top + "px";
    note.style.left = wide ? "30rem" : Math.max(0, beside) + "px";
  }
  function hideNote() {
    noted = null;
    note.hidden = true;
  }
  function leave() {  // soon, unless the pointer has moved onto the note or to another mark
    const left = noted;
    setTimeout(() => { if (noted === left && !note.matches(":hover")) hideNote(); }, 300);
  }
  note.addEventListener("pointerleave", leave);
  // Shows the note for the keyboard as well.
  function noteOf(element) {
    element.setAttribute("aria-describedby", "number-note");
    element.addEventListener("focus", () => { if (element.matches(":focus-visible")) showNote(element); });
    element.addEventListener("blur", hideNote);
  }
  for (const number of document.querySelectorAll("a.number-link")) {
    number.dataset.title = number.title;
    number.removeAttribute("title");
    noteOf(number);
    let touched = false;
    number.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") showNote(number); });
    number.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") leave(); });
    number.addEventListener("pointerdown", (event) => { touched = event.pointerType !== "mouse" && noted !== number; });
    number.addEventListener("click", (event) => {
      if (touched) event.preventDefault();  // the first touch shows the note, the second follows the link
      showNote(number);
    });
  }
  for (const claim of document.querySelectorAll("article .claim[title]")) {
    claim.tabIndex = 0;
    noteOf(claim);
    claim.addEventListener("click", (event) => { if (!event.target.closest("a")) showNote(claim); });
  }
  for (const link of document.querySelectorAll("article a[href^='#']:not(.permalink)")) {
    const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (!target?.matches("figure, .csl-entry")) continue;
    referred.set(link, target);
    noteOf(link);
    link.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") showNote(link); });
    link.addEventListener("pointerleave", leave);
  }
  // At a reference to another page, its title.
  for (const link of document.querySelectorAll("article a[href*='.html']:not(.number-link)")) {
    const page = contents.querySelector(`a[href="${link.getAttribute("href").split("#")[0]}"]`);
    if (page) link.title ||= page.textContent.trim();
  }
  // In a row of a table the Tab key stops at the first of them, and arrow keys lead to the others.
  for (const row of document.querySelectorAll("article tr")) {
    const marked = [...row.querySelectorAll(".number-link, .claim[tabindex]")];
    for (const [i, mark] of marked.entries()) {
      if (i > 0) mark.tabIndex = -1;
      mark.addEventListener("keydown", (event) => {
        const next = marked[i + { ArrowLeft: -1, ArrowRight: 1 }[event.key]];
        if (!next) return;
        next.focus();
        event.stopPropagation();
      });
    }
  }
  document.addEventListener("pointerdown", (event) => { if (!event.target.closest(".number-link, .claim, .number-note")) hideNote(); });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input, select, textarea, [tabindex]");
    if (event.key === "Escape") {
      hideNote();
    } else if (event.key === "/" && !typing) {
      event.preventDefault();
      search.focus();
    } else if (!typing && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      const link = document.querySelector(event.key === "ArrowLeft" ? "a[rel=prev]" : "a[rel=next]");
      if (link) location.href = link.href;
    }
  });
})();
