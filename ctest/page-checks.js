// What a page of the book must hold to when it is laid out: a function of the window's width and the colour scheme that gives a list
// of complaints. The test book.browser evaluates it in every page.
(async (width, scheme) => {
  const complaints = [];
  const complain = (what, element) =>
    complaints.push(what + (element ? ": " + (element.textContent || element.id || element.tagName).trim().slice(0, 60) : ""));
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const visible = (element) => element.getClientRects().length > 0;

  // --- Contrast of program text, AA: 4.5 to 1.
  const rgb = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const backgroundOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const contrast = (element) => {
    const [a, b] = [luminance(rgb(getComputedStyle(element).color)), luminance(backgroundOf(element))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const checked = new Set();
  for (const element of all("pre code span, .captured, .line-number, .line-count, p code, td code")) {
    const kind = element.className + " on " + backgroundOf(element);
    if (checked.has(kind) || !visible(element)) continue;
    checked.add(kind);
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) opacity *= parseFloat(getComputedStyle(at).opacity);
    if (opacity < 1 || contrast(element) < 4.5)
      complain("contrast of " + contrast(element).toFixed(2) + " in ." + element.className + (opacity < 1 ? ", and faded" : ""), element);
  }

  // --- The shade at an edge behind which there is more is seen on its ground.
  const probe = document.body.appendChild(document.createElement("i"));
  for (const ground of ["--paper", "--panel"]) {
    const [below, above] = [ground, "--edge"].map((name) => {
      probe.style.backgroundColor = "var(" + name + ")";
      return rgb(getComputedStyle(probe).backgroundColor);
    });
    const alpha = above.length > 3 ? above[3] : 1;
    const shade = below.map((part, i) => alpha * above[i] + (1 - alpha) * part);
    const [lighter, darker] = [luminance(below), luminance(shade)].sort((x, y) => y - x);
    if ((lighter + 0.05) / (darker + 0.05) < 1.5) complain("the shade at an edge is not seen on " + ground + ", " + scheme);
  }
  probe.remove();

  // --- Parts of a bar are seen on their page, and told from their neighbours.
  const contrastOf = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  for (const svg of all("article svg:has(.segment)")) {
    const page = backgroundOf(svg), fills = [];
    for (const part of all(".segment", svg)) {
      const style = getComputedStyle(part), fill = rgb(style.fill), alpha = parseFloat(style.fillOpacity);
      fills.push(page.map((paper, i) => alpha * fill[i] + (1 - alpha) * paper));
      const strongest = Math.max(contrastOf(page, fills[fills.length - 1]), style.stroke === "none" ? 1 : contrastOf(page, rgb(style.stroke)));
      if (strongest < 3) complain("a part of a bar is not seen on its page, " + scheme, svg.closest("figure"));
    }
    if (fills.some((fill, i) => i > 0 && contrastOf(fill, fills[i - 1]) < 1.5)) complain("parts of a bar are not told apart, " + scheme, svg.closest("figure"));
  }

  // --- The colour scheme, of which the dark one comes first, moves nothing: what follows is looked at in the light.
  const places = JSON.stringify(all("article :is(h1, h2, h3, p, li, td, th, figcaption, code, svg)").filter((element) => element.checkVisibility()).map((element) => element.getBoundingClientRect()));
  if (scheme === "dark") {
    window.placesInTheDark = places;
    return complaints;
  }
  if (places !== window.placesInTheDark) complain("the page is laid out differently in the dark");

  // --- Listings: at 1400 pixels all of a line is in its frame; on a phone what was counted stands below the line.
  for (const frame of all(".code-frame .code"))
    if (width >= 1100 && frame.scrollWidth > frame.clientWidth + 1) complain("a listing is wider than its frame", frame);
  if (width <= 500)
    for (const count of all(".line-count"))
      if (count.getBoundingClientRect().top < count.previousElementSibling.getBoundingClientRect().bottom - 1)
        complain("a count is not below its line", count);

  // --- So is all of a table, and no button lies on a program where nothing hovers.
  for (const box of all("article .data-table .scroll"))
    if (width >= 1100 && box.scrollWidth > box.clientWidth + 1)
      complain("a table is " + (box.scrollWidth - box.clientWidth) + " pixels wider than its frame", box.closest("figure").querySelector("figcaption"));
  if (width <= 500)
    for (const button of all(".copyable .copy")) {
      const program = button.parentElement.querySelector("pre").getBoundingClientRect(), box = button.getBoundingClientRect();
      if (box.top < program.bottom - 1 && box.bottom > program.top + 1) complain("a button lies on its program", button.parentElement);
    }

  // --- On a phone what scrolls sideways tells of more at its edge, and no column of text is so narrow that it becomes a ribbon.
  if (width <= 500) {
    for (const box of all("article *"))
      if (box.scrollWidth > box.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(box).overflowX) && !getComputedStyle(box).backgroundImage.includes("gradient"))
        complain("nothing tells that there is more at the side", box);
    dispatchEvent(new Event("resize"));  // of a window that nobody sees, Chromium tells late
    for (const box of all("article figure *"))
      if (visible(box) && box.scrollWidth - box.clientWidth > 1 && /auto|scroll/.test(getComputedStyle(box).overflowX) &&
          !box.matches("pre, .code") && !(box.previousElementSibling && box.previousElementSibling.matches(".more:not([hidden])")))
        complain("no words tell that there is more at the side", box.closest("figure"));
    for (const cell of all("article td")) {
      const words = document.createRange();
      words.selectNodeContents(cell);
      if (cell.clientWidth < 180 && words.getBoundingClientRect().height > 6.5 * parseFloat(getComputedStyle(cell).lineHeight))
        complain("a narrow column of text", cell);
    }
  }

  // --- What a narrow page repeats, or says of what it leaves out, is not on a wide one.
  if (width >= 1100)
    for (const again of all("article .panels .row-again").filter(visible)) complain("a wide page says twice what stands beside it", again.closest("figure"));

  // --- Figures are seen whole on a phone.
  if (width <= 500)
    for (const box of all("article figure.drawing .scroll").filter(visible))
      if (box.scrollWidth > box.clientWidth + 1 && !box.querySelector("table"))
        complain("a phone shows " + box.clientWidth + " of the " + box.scrollWidth + " pixels of a figure", box.closest("figure").querySelector("figcaption"));

  // --- Nor do tables of few rows scroll there, or drawings whose parts can stand below each other.
  if (width <= 500)
    for (const box of all("article .scroll:has(> table, > .panels), article :not(.scroll) > table")) {
      const table = box.matches("table") ? box : box.querySelector(":scope > table");
      if (box.closest(".live form") || !visible(box) || box.scrollWidth <= box.clientWidth + 1) continue;
      if (!table) complain("parts of a drawing are wider than a phone", box.closest("figure"));
      else if (table.tBodies[0].rows.length <= 30) complain("a table of few rows is wider than a phone", table);
    }

  // --- Titles in the contents begin below each other, wrapped or not, with a gap behind their number.
  for (const link of all(".toc a")) {
    const number = link.querySelector(".chapter-number, .section-number, .toc-section-number"), title = document.createRange();
    if (!number || !visible(link)) continue;
    title.setStartAfter(number);
    title.setEndAfter(link.lastChild);
    const boxes = [...title.getClientRects()].filter((box) => box.width > 3);
    const begins = Math.min(...boxes.map((box) => box.left)), words = document.createRange();
    words.selectNodeContents(number);
    if (boxes.some((box, i) => (i === 0 || box.top > boxes[i - 1].top + 4) && Math.abs(box.left - begins) > 1.5))
      complain("a wrapped title in the contents does not begin where it began", link);
    if (begins - words.getBoundingClientRect().right < 4) complain("a title in the contents touches its number", link);
  }

  // --- The contents beside the text show this page, and where parts begin.
  const contents = document.querySelector(".toc"), here = contents.querySelector("[aria-current]").getBoundingClientRect();
  if (width >= 1100 && (here.top < contents.getBoundingClientRect().top || here.bottom > innerHeight)) complain("this page is out of sight in the contents");
  if (contents.querySelectorAll(".part-head").length < 3) complain("the contents do not say where parts begin");

  // --- Labels of drawings are at least 12 pixels high.
  for (const label of all("article .drawing svg text")) {
    const matrix = label.getScreenCTM();
    if (!matrix || !visible(label) || !label.textContent.trim()) continue;
    const pixels = parseFloat(getComputedStyle(label).fontSize) * Math.hypot(matrix.a, matrix.b);
    if (pixels < 11.95) {
      complain("a label of " + pixels.toFixed(1) + " pixels", label);
      break;
    }
  }

  // --- Parts of a drawing that can stand by themselves stand below each other on a phone, and beside each other where there is room.
  for (const panels of all("article .panels").filter(visible)) {
    const boxes = all("svg:not(.row-end ~ *)", panels).filter(visible).map((svg) => svg.getBoundingClientRect());
    const below = boxes.some((box, i) => i > 0 && box.top >= boxes[i - 1].bottom - 1);
    if (width <= 500 && boxes.some((box, i) => i > 0 && box.top < boxes[i - 1].bottom - 1))
      complain("parts of a drawing stand beside each other on a phone", panels.closest("figure"));
    if (width >= 1100 && below) complain("parts of a drawing stand below each other, where there is room", panels.closest("figure"));
  }

  // --- No label of a drawing lies on another one: compared by their small letters, and a pixel less at the sides. One that is turned has no box.
  const upright = (label) => Math.abs(label.getScreenCTM().b) < 1e-6;
  for (const svg of all("article .drawing svg")) {
    const boxes = all("text", svg).filter((label) => label.textContent.trim() && visible(label) && upright(label)).map((label) => {
      const { left, right, top, height } = label.getBoundingClientRect();
      return { label, left: left + 1, right: right - 1, top: top + height * 0.3, bottom: top + height * 0.77 };
    });
    const covered = boxes.find((a, i) => boxes.some((b, k) => k < i && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
    if (covered) complain("a label lies on another one in " + (svg.closest("figure").id || "a figure"), covered.label);
  }

  // --- No label of a drawing ends outside of it.
  for (const svg of all("article .drawing svg")) {
    const frame = svg.getBoundingClientRect();
    const out = all("text", svg).find((label) => {
      const box = label.getBoundingClientRect();
      return box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
    });
    if (out) complain("a label ends outside of its drawing", out);
  }

  // --- Names of controls in a row are on one line.
  for (const controls of all(".live .controls")) {
    const names = all("label > span", controls).map((name) => [name, name.getBoundingClientRect(), name.nextElementSibling.getBoundingClientRect()]);
    for (const [name, box, control] of names)
      if (names.some(([, other, another]) => Math.abs(another.bottom - control.bottom) < 9 && Math.abs(other.bottom - box.bottom) > 1 && Math.abs(other.bottom - box.bottom) < 12))
        complain("the name of a control is not level with its neighbour's", name.parentElement);
  }

  // --- What may be chosen is legible, and so is what differs in an edit.
  for (const choice of all(".live .controls select")) {
    const whole = choice.cloneNode(true);
    whole.style.cssText = "position: absolute; width: max-content";
    choice.after(whole);
    if (visible(choice) && whole.offsetWidth > choice.offsetWidth + 1) complain("a choice is wider than its control", choice.closest("label"));
    whole.remove();
  }
  for (const frame of all(".diff .code"))
    if (frame.scrollWidth > frame.clientWidth + 1) complain("an edit is wider than its frame", frame);

  // --- In an edit no word is broken, none stands below the number of its line, and nothing is left of what only the formatter reads.
  const boxOf = (node, from, to) => {
    const part = document.createRange();
    part.setStart(node, from);
    part.setEnd(node, to);
    return part.getClientRects();
  };
  const textsOf = (element) => {
    const texts = [], walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) texts.push(walk.currentNode);
    return texts;
  };
  for (const line of all(".diff .line")) {
    const texts = textsOf(line), first = texts.find((node) => /\S/.test(node.data));
    if (!first) continue;
    if (texts.some((node) => [...node.data.matchAll(/\w+/g)].some(({ 0: word, index }) => boxOf(node, index, index + word.length).length > 1)))
      complain("a word of an edit is broken", line);
    const at = first.data.search(/\S/), number = line.previousElementSibling.getBoundingClientRect();
    if (boxOf(first, at, at + 1)[0].top > number.top + 12) complain("a line of an edit begins below its number", line);
    if (/\S\s+\/\/\s*$/.test(line.textContent)) complain("an edit shows an empty comment", line);
  }

  // --- In italics a 2, 3 or 4 leans over the full stop behind it, unless letters are set apart.
  for (const label of all("figcaption strong")) {
    const { letterSpacing, fontSize } = getComputedStyle(label);
    if ((parseFloat(letterSpacing) || 0) < 0.045 * parseFloat(fontSize)) complain("the full stop of a label is covered", label);
  }

  // --- What belongs together is on one line: a range, an option, a formula and its operator, a name and its value.
  for (const node of textsOf(document.querySelector("article"))) {
    if (!visible(node.parentElement) || node.parentElement.closest("pre, svg, .live")) continue;
    for (const { 0: words, index } of node.data.matchAll(/\d–\d+|--\w[\w-]*|[\w\u00a0] ?= ?\u00a0\d+/g))
      if (new Set([...boxOf(node, index, index + words.length)].map((box) => Math.round(box.top / 6))).size > 1) complain("words that belong together are on two lines", node.parentElement);
  }
  for (const formula of all("article p > math, article p > .kept > math")) {
    const behind = formula.nextSibling, place = behind && behind.nodeType === Node.TEXT_NODE && /^\u00a0[=+−×]/.test(behind.data) && boxOf(behind, 1, 2)[0];
    if (place && place.top > formula.getBoundingClientRect().bottom) complain("an operator stands below its formula", formula.parentElement);
  }

  // --- An address is not broken before its host, and no heading's link to itself stands alone.
  for (const link of all(".csl-entry a"))
    for (const node of textsOf(link)) {
      const host = /^https?:\/\/[^/]+/.exec(node.data);
      if (host && boxOf(node, 0, host[0].length).length > 1) complain("an address is broken before its host", link.closest(".csl-entry"));
    }
  for (const link of all("article .permalink")) {
    const words = textsOf(link.parentElement).filter((node) => node.parentElement !== link && node.data.trim()).pop();
    if (!words || !visible(link)) continue;
    const end = words.data.trimEnd().length, boxes = boxOf(words, end - 1, end);
    if (boxes.length && link.getBoundingClientRect().top > boxes[0].bottom) complain("a link to a heading stands alone", link.parentElement);
  }

  // --- Few words stay together: program text of two or three, "Table 3.1".
  const lineCount = (element) => new Set([...element.getClientRects()].map((box) => Math.round(box.top / 6))).size;
  for (const words of all("article :not(pre) > code"))
    if (words.textContent.length <= (/\^ \(|\) << /.test(words.textContent) ? 32 : 20) && !words.closest("pre, .live") && lineCount(words) > 1) complain("short program text is broken", words);
  for (const words of all("article a"))
    if (/^[A-Za-z]+ [\dA-C][\d.]*$/.test(words.textContent) && words.getAttribute("href").includes(".html") && lineCount(words) > 1)
      complain("a reference is broken", words);

  // --- No column of a table is empty at its side while another one wraps.
  const room = (cell) => {
    const words = document.createRange();
    words.selectNodeContents(cell);
    const boxes = [...words.getClientRects()].filter((box) => box.width > 0), style = getComputedStyle(cell);
    if (boxes.length === 0) return { empty: cell.clientWidth, wraps: false };
    const wide = Math.max(...boxes.map((box) => box.right)) - Math.min(...boxes.map((box) => box.left));
    return { empty: cell.clientWidth - wide - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight),
             wraps: cell.clientHeight > 1.9 * parseFloat(style.lineHeight) };
  };
  if (width >= 1100)
    for (const table of all("article table")) {
      if (!visible(table) || table.closest(".live")) continue;
      const empty = [];
      let wraps = false;
      for (const row of table.rows)
        [...row.cells].forEach((cell, column) => {
          const found = room(cell);
          empty[column] = Math.min(found.empty, column in empty ? empty[column] : Infinity);
          wraps = wraps || found.wraps;
        });
      if (wraps && Math.max(...empty) > 100) complain("a column is wider than all of its words, and another one wraps", table);
    }

  // --- No line of a drawing goes through a label, unless something opaque lies between them. Frames of boxes are lines as well.
  const straight = (x1, y1, x2, y2) => [[x1, y1], [x2, y2]];
  function strokesOf(shape) {  // as lists of points, in the shape's own coordinates
    const at = (name) => shape[name].baseVal.value;
    if (shape.tagName === "line") return [straight(at("x1"), at("y1"), at("x2"), at("y2"))];
    if (shape.tagName === "rect") {
      const [x, y, right, bottom] = [at("x"), at("y"), at("x") + at("width"), at("y") + at("height")];
      return [[[x, y], [right, y], [right, bottom], [x, bottom], [x, y]]];
    }
    return (shape.getAttribute("d") || "").split(/(?=M)/).filter((part) => part.trim()).map((part) => {  // one for each stroke of the pen
      const pen = shape.cloneNode();
      pen.setAttribute("d", part);
      const length = pen.getTotalLength(), steps = Math.max(1, Math.ceil(length / 3));
      return Array.from({ length: steps + 1 }, (_, i) => pen.getPointAtLength((length * i) / steps)).map(({ x, y }) => [x, y]);
    });
  }
  function meets([ax, ay], [bx, by], box) {  // whether a part of the line from a to b is in the box
    let from = 0, to = 1;
    for (const [start, delta, low, high] of [[ax, bx - ax, box.left, box.right], [ay, by - ay, box.top, box.bottom]]) {
      if (delta === 0 && (start <= low || start >= high)) return false;
      if (delta === 0) continue;
      const [enters, leaves] = [(low - start) / delta, (high - start) / delta].sort((p, q) => p - q);
      from = Math.max(from, enters);
      to = Math.min(to, leaves);
    }
    return from < to;
  }
  const through = (points, box) => points.some((point, i) => i > 0 && meets(points[i - 1], point, box));
  function linesThroughLabels(svg) {
    const strokes = [], covers = [], found = [];
    const moved = (points, matrix) => points.map(([x, y]) => [matrix.a * x + matrix.c * y + matrix.e, matrix.b * x + matrix.d * y + matrix.f]);
    for (const shape of svg.querySelectorAll("line, path, rect, text")) {
      if (!visible(shape)) continue;
      const style = getComputedStyle(shape), matrix = shape.getScreenCTM();
      if (shape.tagName === "text") {
        if (!shape.textContent.trim()) continue;
        const { x, y, width, height } = shape.getBBox();
        const box = { left: x + 1, right: x + width - 1, top: y + height * 0.3, bottom: y + height * 0.77 };  // its small letters
        const back = matrix.inverse(), corners = moved([[box.left, box.top], [box.right, box.bottom]], matrix);
        const hidden = covers.filter((cover) => corners.every(([cx, cy]) =>
          cx >= cover.left && cx <= cover.right && cy >= cover.top && cy <= cover.bottom)).pop();
        if (strokes.slice(hidden ? hidden.strokes : 0).some((points) => through(moved(points, back), box))) found.push(shape);
        continue;
      }
      const opaque = style.fill !== "none" && parseFloat(style.fillOpacity) > 0.99;
      if (shape.tagName === "rect" && opaque) covers.push({ ...shape.getBoundingClientRect().toJSON(), strokes: strokes.length });
      if (style.stroke !== "none" && parseFloat(style.strokeOpacity) > 0) strokes.push(...strokesOf(shape).map((points) => moved(points, matrix)));
    }
    return found;
  }
  for (const svg of all("article .drawing svg"))
    for (const label of linesThroughLabels(svg)) complain("a line goes through a label of " + (svg.closest("figure").id || "a figure"), label);

  // --- Figures in text are lining ones of one width, for a narrow 1 touches its neighbours: nothing takes the setting back.
  const settings = ["lining-nums", "tabular-nums"];
  for (const element of all("article p, article figcaption, article figcaption strong, .toc a, .side-note, td, article .measured")) {
    const missing = settings.filter((setting) => !getComputedStyle(element).fontVariantNumeric.includes(setting));
    if (missing.length === 0) continue;
    complain("digits are not " + missing.join(", "), element);
    break;
  }

  // --- Every chapter from 01 on has a figure to try.
  const chapter = /\/(\d\d)\.html$/.exec(location.pathname);
  if (chapter && chapter[1] !== "00" && !document.querySelector("figure.interactive")) complain("a chapter without an interactive figure");

  if (width !== 1400) return complaints;

  // --- What tests said is shown without what only the test program adds.
  for (const said of all(".captured"))
    if (/==\s*\)\s*$/.test(said.textContent) || said.textContent.split('"').length % 2 === 0 || /0x[0-9a-f]{6}/.test(said.textContent))
      complain("a report ends in rubbish, has half a quotation or an address of one run", said);

  // --- An operator in words has the gaps of any other, and no more.
  for (const gap of all("math mspace + mo, math mo + mspace")) complain("a gap beside an operator that has its own", gap.closest("math"));

  // --- Captions and cells are set in type: no x for a cross, no hyphen for a minus or in a range, no straight apostrophe.
  for (const words of all("article :is(p, li, figcaption, td, th)")) {
    const plain = words.cloneNode(true);
    for (const part of all("code, math, pre, .live, p, li", plain)) part.remove();
    const typed = /\w'[a-z]|[A-Za-z\d)] x [A-Za-z\d(]|^x [A-Za-z]|(?<![\w.])[1-9]\d*x\d+(x\d+)?(?![\w-])|[\w)] [%^] [\w(]|(^|\s)-(\s|$)|(^|[\s(\[])-\d|\d us\b|[A-Za-z] µs\b|\d[eE][+-]\d|(?<![-\w])\d[\d.,]*-\d[\d.,]*(?![-\w])/.exec(plain.textContent.replace(/\d{4}-\d\d-\d\d/g, ""));
    if (typed) complain(`typed, not set: "${typed[0]}"`, words);
  }

  // --- A sentence does not begin with a reference in small letters.
  for (const paragraph of all("article p"))
    if (paragraph.firstChild && paragraph.firstChild.tagName === "A" && /^[a-z]/.test(paragraph.textContent))
      complain("a sentence begins with a small letter", paragraph);
  for (const link of all("article p a[href]"))
    if (/^(chapter|section) /.test(link.textContent) && link.previousSibling && /[a-z\d)]\.\s$/.test(link.previousSibling.textContent))
      complain("a sentence begins with a small letter", link.parentElement);

  // --- Every column of a table has a head.
  for (const head of all("article thead th + th"))
    if (!head.textContent.trim()) complain("a column without a head", head.closest("figure"));

  // --- Brackets in a line of text do not grow.
  for (const bracket of all('math:not([display="block"]) mo[stretchy="true"]')) {
    complain("a bracket that grows in a line of text", bracket.closest("math"));
    break;
  }

  // --- Punctuation stays with the formula before it, and a bracket with the one behind it.
  for (const formula of all("article p math"))
    if (/^[,.;:)]/.test((formula.nextSibling && formula.nextSibling.textContent) || "") && !formula.closest(".kept"))
      complain("punctuation may begin a line behind a formula", formula.parentElement);
    else if (/[(\[]$/.test((formula.previousSibling && formula.previousSibling.textContent) || "") && !formula.closest(".kept"))
      complain("a bracket may end a line before a formula", formula.parentElement);

  // --- A line with a bold word is as high as one without, and numbers of lists are lining figures.
  const heightOf = (words) => {
    const line = document.createElement("p");
    line.innerHTML = words;
    document.querySelector("article").append(line);
    const { height } = line.getBoundingClientRect();
    line.remove();
    return height;
  };
  if (heightOf("a <strong>bold</strong> word") > heightOf("a word") + 0.1) complain("a bold word makes its line higher");
  for (const item of all("article li"))
    if (!getComputedStyle(item, "::marker").fontVariantNumeric.includes("lining-nums")) {
      complain("the number of an item is not a lining figure", item);
      break;
    }

  // --- Bold letters and digits are heavier than those of the text, each of them, as high, and not much wider.
  await Promise.all(["400", "700"].map((weight) => document.fonts.load(`${weight} 80px Book`)));
  const pen = Object.assign(document.createElement("canvas"), { width: 160, height: 120 }).getContext("2d", { willReadFrequently: true });
  const inkOf = (letter, weight) => {
    pen.font = `${weight} 80px Book`;
    pen.clearRect(0, 0, 160, 120);
    pen.fillText(letter, 30, 90);
    return pen.getImageData(0, 0, 160, 120).data.reduce((sum, value, i) => (i % 4 === 3 ? sum + value : sum), 0);
  };
  const ratioOf = (words, of) => {
    const [plain, bold] = [400, 700].map((weight) => {
      pen.font = `${weight} 80px Book`;
      return of(pen.measureText(words));
    });
    return bold / plain;
  };
  const light = [..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"].filter((letter) => inkOf(letter, 700) < inkOf(letter, 400));
  if (light.length > 0) complain("bold letters as light as the text's: " + light.join(""));
  const height = ratioOf("x", (box) => box.actualBoundingBoxAscent), length = ratioOf("where warps of the tile stand", (box) => box.width);
  if (Math.abs(height - 1) > 0.04) complain("bold letters are not as high as the text's: " + height.toFixed(2));
  if (length > 1.06) complain("bold words are wide: " + length.toFixed(2));

  // --- Sections have links to themselves.
  for (const heading of all("article :is(h1, h2, h3)[id]")) {
    const link = heading.querySelector("a.permalink");
    if (!link || link.getAttribute("href") !== "#" + heading.id) complain("a heading without a link to itself", heading);
  }

  // --- A copied program has neither line numbers nor counts.
  const button = document.querySelector(".listing .copy");
  if (document.querySelector(".listing") && !button) complain("a listing without a button that copies");
  if (button) {
    let copied = "";
    Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: async (text) => { copied = text; } } });
    button.click();
    await Promise.resolve();
    const frame = button.closest(".code-frame"), numbers = all(".line-number", frame).map((number) => number.textContent);
    const lines = copied.replace(/\n$/, "").split("\n");
    if (lines.length !== numbers.length) complain("of " + numbers.length + " lines " + lines.length + " are copied", frame);
    if (lines.some((line, i) => line.startsWith(numbers[i]))) complain("line numbers are copied", frame);
    const counts = all(".line-count", frame).map((count) => count.textContent);
    if (counts.some((count) => copied.includes(count))) complain("counts are copied", frame);
  }

  // --- Numbers lead to where they come from: shown to whoever comes by keyboard or touches one.
  for (const number of all("article :is(.predicted, .counted, .measured):not(.pending)"))
    if (number.tagName !== "A" || !number.hash) complain("a number without a link to where it comes from", number);
  const number = all("article a.number-link").find((link) => !link.closest("details:not([open])"));
  if (number) {
    const note = document.getElementById("number-note");
    const shows = () => visible(note) && note.querySelector("a").href === number.href && note.querySelector("code").textContent.includes("=");
    number.focus();
    if (!shows()) complain("the keyboard does not show where a number comes from", number);
    number.blur();
    if (visible(note)) complain("what was shown of a number stays", number);
    number.dispatchEvent(new PointerEvent("pointerdown", { pointerType: "touch", bubbles: true }));
    const touch = new MouseEvent("click", { bubbles: true, cancelable: true });
    number.dispatchEvent(touch);
    if (!touch.defaultPrevented || !shows()) complain("the first touch does not show where a number comes from", number);
    const right = note.getBoundingClientRect(), text = document.querySelector("article > p").getBoundingClientRect();
    if (right.left < text.right) complain("the origin of a number is not in the margin", note);
    document.body.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
    if (visible(note)) complain("a touch elsewhere does not put the note away", note);
  }

  // --- Words that compare numbers show their expression likewise.
  const claim = all("article .claim[title]").find((words) => visible(words) && !words.closest("details:not([open])"));
  if (claim) {
    const note = document.getElementById("number-note");
    const shows = () => visible(note) && claim.title.includes(note.querySelector("code").textContent);
    claim.focus();
    if (!shows()) complain("the keyboard does not show what is tested of some words", claim);
    claim.blur();
    claim.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    if (!shows()) complain("a touch does not show what is tested of some words", claim);
    document.body.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
  }

  // --- What a search finds lies on the screen.
  const results = document.getElementById("results");
  if (results) {
    const { hidden, innerHTML } = results;
    results.hidden = false;
    results.innerHTML = "<li>a result</li>";
    const list = results.getBoundingClientRect();
    if (list.left < 0 || list.right > document.documentElement.clientWidth) complain("what a search finds lies beside the screen", results);
    results.hidden = hidden;
    results.innerHTML = innerHTML;
  }

  // --- Terms are defined in the margin; each is marked in the text.
  for (const definition of all(".definition")) {
    const text = definition.closest("p, li").getBoundingClientRect(), term = definition.previousElementSibling.previousElementSibling;
    if (getComputedStyle(term).borderBottomStyle !== "dashed") complain("a term is not marked", term);
    if (!visible(definition) || definition.getBoundingClientRect().left < text.right) complain("a definition is not in the margin", definition);
  }

  // --- Whoever comes to a place that is folded sees it, and so does paper.
  const isOpen = (details) => details.open;
  const inside = document.querySelector("article details.folded [id]");
  if (inside) {
    const folded = inside.closest("details");
    if (isOpen(folded)) complain("what may be very much is not folded", folded);
    const moved = new Promise((resolve) => addEventListener("hashchange", () => setTimeout(resolve), { once: true }));
    location.hash = inside.id;
    await moved;
    if (!isOpen(folded)) complain("a place to which a link leads stays folded", inside);
    folded.open = false;
    dispatchEvent(new Event("beforeprint"));
    if (!all("article details").every(isOpen)) complain("what is folded is not printed");
  }
  const listing = document.querySelector("article figure.listing:has(> .folded)");
  if (listing) {
    const code = listing.querySelector(".folded");
    code.open = false;
    const moved = new Promise((resolve) => addEventListener("hashchange", () => setTimeout(resolve), { once: true }));
    location.hash = listing.id;
    await moved;
    if (!isOpen(code)) complain("a folded listing stays so for whoever comes to it", listing);
  }
  for (const row of all("article .settled"))
    if (!row.id || !row.querySelector("a.permalink")) complain("a finding without an address", row);

  // --- Sources have addresses.
  for (const entry of all(".csl-entry"))
    if (!entry.querySelector('a[href^="http"]')) complain("a reference without an address", entry);
  return complaints;
})
