#!/usr/bin/python3
"""The woven book in headless Chromium, from disk: what a reader sees and can do. One browser for all pages.

Usage: browser_test.py browser|explorer|lookups BOOK-DIRECTORY
  browser   every page, narrow and wide, the wide one light and dark: errors, links, layout, contrast, names for screen readers, search
  explorer  the figures of shared-memory banks: the rule of banks.js, their pictures, their controls
  lookups   the figures of lines and tag banks: the rule of lookups.js, their pictures, every lane
Common to all three: no message of level error in the console, and no request to the network, which is cut off.
"""
import re
import shutil
import sys
import tempfile
from html import unescape
from itertools import product
from pathlib import Path
from urllib.parse import quote, unquote

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "common/sim/data"
WARP = 32


class Browser:
    """Chromium, and what went wrong in it."""

    def __init__(self, profile):
        program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        driver = shutil.which("chromedriver")
        if not (webdriver and program and driver):
            print("skipped: apt-get install python3-selenium chromium chromium-driver")
            sys.exit(0)
        options = webdriver.ChromeOptions()
        options.binary_location = program
        for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-background-networking", "no-first-run",
                     "disable-component-update", "disable-dev-shm-usage", f"user-data-dir={profile}",
                     "host-resolver-rules=MAP * ~NOTFOUND"):
            options.add_argument("--" + flag)
        options.set_capability("goog:loggingPrefs", {"browser": "SEVERE"})
        self.driver = webdriver.Chrome(service=Service(driver), options=options)
        self.driver.set_script_timeout(300)
        self.complaints, self.page = [], ""

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def open(self, page):
        self.page = page.name
        self.driver.get("file://" + quote(str(page)))

    def width(self, pixels):
        self.cdp("Emulation.setDeviceMetricsOverride", width=pixels, height=900, deviceScaleFactor=1, mobile=False)

    def media(self, scheme, medium="screen"):
        self.cdp("Emulation.setEmulatedMedia", media=medium,
                 features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script, *arguments):
        """What a function of the page's, with arguments, returns; promises are awaited."""
        return self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);"
            f"Promise.resolve(({script})(...given)).then(done, (e) => done(`exception: ${{e.stack}}`));", *arguments)

    def expect(self, holds, otherwise):
        if not holds:
            self.complaints.append(f"{self.page}: {otherwise}")

    def collect_errors(self):
        for entry in self.driver.get_log("browser"):
            self.expect(False, entry["message"])


# What a page must hold to at a width, in a colour scheme: a list of complaints.
CHECK_PAGE = r"""async (width, scheme) => {
  const complaints = [], all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const complain = (what, element) =>
    complaints.push(what + ": " + (element.textContent || element.id || element.outerHTML).trim().slice(0, 60));
  const visible = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const root = document.documentElement;
  await document.fonts.ready;
  for (const font of document.fonts) if (font.status === "error") complaints.push("font not loaded: " + font.family);

  // Nothing is wider than the page; on a wide one no program or table is cut, and a figure is seen whole on any.
  if (root.scrollWidth > root.clientWidth + 1) {
    const beyond = all("main *, header *, nav *").find((e) =>
      e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest(".scroll, .code, pre, .hidden, .skip"));
    complain("wider than the page", beyond || root);
  }
  const whole = width > 1000 ? ".code-frame .code, .data-table .scroll, .drawing .scroll" : ".drawing .scroll:not(:has(table))";
  for (const frame of all(`article :is(${whole})`).filter(visible))
    if (frame.scrollWidth > frame.clientWidth + 1) complain("not all of it fits its frame", frame.closest("figure"));

  // Contrast, AA: 4.5 to 1, of large letters 3 to 1. Colours are drawn, for styles have many notations of them.
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
      known.set(colour, [...pen.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(colour);
  };
  const luminance = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, share, i) => {
    const c = colour[i] / 255;
    return sum + share * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  }, 0);
  const groundOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const ground = rgba(getComputedStyle(at).backgroundColor);
      if (ground[3] === 255) return ground;
    }
    return [255, 255, 255, 255];
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), looked = new Set(), parents = new Set();
  while (texts.nextNode()) if (texts.currentNode.data.trim()) parents.add(texts.currentNode.parentElement);
  for (const element of parents) {
    if (element.closest("svg, math, script, option, .hidden, .skip, :disabled")) continue;
    const { color, fontSize, fontWeight } = getComputedStyle(element), ground = groundOf(element);
    const kind = [color, ground, fontSize, fontWeight].join();
    if (looked.has(kind) || !visible(element)) continue;
    looked.add(kind);
    const large = parseFloat(fontSize) >= 24 || (parseFloat(fontSize) >= 18.7 && fontWeight >= 700);
    const [light, dark] = [luminance(rgba(color)), luminance(ground)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < (large ? 3 : 4.5)) complain("contrast of " + ratio.toFixed(2), element);
  }

  if (scheme === "dark") return complaints;  // what follows does not depend on colours

  // Whoever hears the page: one main part, and a name for every control, link, picture and frame that scrolls, which the keyboard reaches.
  if (!root.lang || all("main").length !== 1 || !document.title) complaints.push("no language, title or main part");
  const nameOf = (e) => e.getAttribute("aria-label") || e.getAttribute("title") || e.getAttribute("alt") ||
    [...(e.labels || [])].map((label) => label.textContent).join("") || (e.matches("select, input") ? "" : e.textContent);
  for (const e of all("a[href], button, input, select, summary, img, [role=img], [role=region]"))
    if (visible(e) && !nameOf(e).trim()) complain("no name to be heard", e);
  for (const figure of all("article figure.drawing"))
    for (const picture of all("svg, img", figure).filter(visible)) {
      const heard = picture.closest("[role=img], [aria-hidden=true]") || picture;
      if (!heard.matches("[aria-hidden=true]") && !(heard.getAttribute("aria-label") || heard.getAttribute("alt")))
        complain("a picture without words for it", figure);
    }
  for (const e of all("article *"))
    if (e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX) && visible(e) && e.tabIndex < 0)
      complain("scrolls, and not by the keyboard", e);

  // Labels of drawings: legible, inside of them, and none on another one (by their small letters; one that is turned has no box).
  for (const svg of all("article .drawing svg").filter(visible)) {
    const frame = svg.getBoundingClientRect(), boxes = [];
    for (const label of all("text", svg).filter((one) => one.textContent.trim() && visible(one))) {
      const box = label.getBoundingClientRect(), matrix = label.getScreenCTM(), middle = box.top + box.height * 0.53;
      if (parseFloat(getComputedStyle(label).fontSize) * Math.hypot(matrix.a, matrix.b) < 11.95) complain("a label is small", label);
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        complain("a label ends outside of its drawing", label);
      if (Math.abs(matrix.b) > 1e-6) continue;
      if (boxes.some((other) => other.left < box.right - 2 && box.left < other.right - 2 &&
          Math.abs(other.middle - middle) < 0.235 * (other.height + box.height))) complain("a label lies on another one", label);
      boxes.push({ left: box.left, right: box.right, height: box.height, middle });
    }
  }
  return complaints;
}"""

# What a reader can do with a page, tried once, wide and light.
TRY_PAGE = r"""async () => {
  const complaints = [], all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const expect = (holds, otherwise) => { if (!holds) complaints.push(otherwise); };
  const unfolded = (element) => !element.closest("details:not([open])");
  const visit = async (hash) => {
    const moved = new Promise((resolve) => addEventListener("hashchange", () => setTimeout(resolve), { once: true }));
    location.hash = hash;
    await moved;
  };
  // A copied program has neither line numbers nor counts.
  const button = document.querySelector(".listing .copy");
  expect(button || !document.querySelector(".listing"), "a listing has no button that copies");
  if (button) {
    let copied = "";
    Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: async (text) => { copied = text; } } });
    button.click();
    const frame = button.closest(".code-frame"), lines = all(".line", frame).map((line) => line.textContent);
    expect(copied.length > 0 && copied === lines.join(""), "the copied program is not the lines shown");
  }
  // Numbers lead to where they come from, which the keyboard shows, as it does what is tested of words.
  const note = document.getElementById("number-note");
  for (const number of all("article :is(.predicted, .counted, .measured):not(.pending)"))
    expect(number.hash || /: a formula .*=/.test(number.title), "a number without a link to where it comes from: " + number.textContent);
  for (const selector of ["a.number-link", ".claim[title]"]) {
    const one = all("article " + selector).find(unfolded);
    if (!one) continue;
    one.focus();
    expect(!note.hidden && note.querySelector("code").textContent, "the keyboard does not show what is behind " + one.textContent);
    one.blur();
    expect(note.hidden, "the note stays");
  }
  // What is folded opens for whoever comes to a place in it, and for paper.
  const inside = document.querySelector("article details.folded:not([open]) [id]");
  if (inside) {
    await visit(inside.id);
    expect(inside.closest("details").open, "a place to which a link leads stays folded: " + inside.id);
    dispatchEvent(new Event("beforeprint"));
    expect(all("article details").every((details) => details.open), "what is folded is not printed");
  }
  const number = /\/(\d\d)\.html$/.exec(location.pathname);
  expect(!number || number[1] === "00" || document.querySelector("figure.interactive"), "a chapter without an interactive figure");
  // At the end of the page the contents mark a later section than its first; in a row of a table the Tab key stops once.
  const sections = all(".toc .on-this-page > ul > li > a");
  scrollTo(0, 1e7);
  dispatchEvent(new Event("scroll"));
  expect(sections.length < 2 || sections.slice(1).filter((link) => link.matches(".read")).length === 1, "the contents do not follow");
  expect(all("article tr").every((row) => all(".number-link, .claim", row).filter((mark) => mark.tabIndex === 0 && mark.checkVisibility()).length < 2), "several tab stops in a row");
  // A reference to a figure, a table or a source shows it.
  const figureOf = (link) => document.getElementById(decodeURIComponent(link.hash.slice(1)))?.closest("figure, .csl-entry");
  const reference = all("article a[href^='#']:not(.permalink)").find(figureOf), shown = document.getElementById("number-note");
  reference?.dispatchEvent(new PointerEvent("pointerenter", { pointerType: "mouse" }));
  expect(!reference || (!shown.hidden && shown.textContent.startsWith(figureOf(reference).textContent.slice(0, 40))), "a reference shows nothing");
  reference?.dispatchEvent(new PointerEvent("pointerleave", { pointerType: "mouse" }));
  // The buttons for the dark and for the marks.
  const paper = () => getComputedStyle(document.documentElement).backgroundColor, before = paper();
  document.getElementById("theme").click();
  expect(paper() !== before, "no button switches between light and dark");
  const mark = document.querySelector("article p .claim"), line = () => mark && getComputedStyle(mark).borderBottomColor, first = line();
  document.getElementById("marks").click();
  expect(!mark || line() !== first, "no button shows or hides the marks");
  for (const choice of ["tile-theme", "tile-marks"]) localStorage.removeItem(choice);
  return complaints;
}"""

# The search box by the keyboard alone.
TRY_SEARCH = r"""async () => {
  const input = document.getElementById("search"), results = document.getElementById("results"), complaints = [];
  const press = (key) => input.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  input.value = "wavefronts";
  if (typeof TILE_SEARCH !== "undefined") complaints.push("the index is loaded before the search is used");
  input.dispatchEvent(new Event("input"));
  await TileSearch.load().then(() => new Promise(setTimeout));
  if (!results.querySelector("a .result-title, .snippet mark")) complaints.push("the search shows nothing, or marks no hit");
  press("ArrowDown");
  press("ArrowDown");
  if (input.getAttribute("aria-activedescendant") !== results.children[1].id) complaints.push("arrow keys do not choose a result");
  press("Escape");
  if (!results.hidden) complaints.push("Escape does not close the results");
  return complaints;
}"""


def check_links(browser, book, pages):
    """Every local link leads to a file of the book, and to a place in it; no page has two places of one name."""
    ids, links = {}, 0
    for page in pages:
        browser.page = page.relative_to(book)
        found = [unescape(name.strip('"')) for name in re.findall(r'\sid=("[^"]*"|[^\s>"\']+)', page.read_text())]
        ids[page] = set(found)
        if len(ids[page]) < len(found):
            browser.expect(False, f"used twice: {[name for name in ids[page] if found.count(name) > 1]}")
    for page in pages:
        browser.page = page.relative_to(book)
        text = re.sub(r"<(script|svg)\b.*?</\1>", "", page.read_text(), flags=re.S)
        for link in set(re.findall(r'\s(?:href|src)="([^"]*)"', text)):
            file, _, place = unescape(link).partition("#")
            if re.match(r"[a-z]+:", file):
                continue  # the bibliography points to the network; opening that is the reader's choice
            target = (page.parent / unquote(file)).resolve() if file else page
            links += 1
            browser.expect(target.is_file(), f"broken link: {link}")
            browser.expect(not place or target not in ids or unquote(place) in ids[target], f"link to a missing place: {link}")
    return links


def browser_test(browser, book):
    pages = sorted(page for page in book.rglob("*.html") if page.name != "print.html")
    links = check_links(browser, book, pages)
    for page in pages:
        if "source" in page.relative_to(book).parts:
            continue
        browser.media("light")
        browser.width(400)
        browser.open(page)
        for width in (400, 1400):
            browser.width(width)
            papers = set()
            for scheme in ("dark", "light") if width == 1400 else ("light",):  # colours do not depend on the width
                browser.media(scheme)
                papers.add(browser.run("() => getComputedStyle(document.documentElement).backgroundColor"))
                for complaint in browser.run(CHECK_PAGE, width, scheme):
                    browser.expect(False, f"{width} px, {scheme}: {complaint}")
            browser.expect(width == 400 or len(papers) == 2, "the dark looks as the light")
        for complaint in browser.run(TRY_PAGE):
            browser.expect(False, complaint)
        browser.collect_errors()
    browser.width(400)
    source = next(page for page in pages if page.name.endswith(".cu.html"))
    browser.driver.get("file://" + quote(str(source)) + "#L-2")
    browser.expect(browser.run("() => getComputedStyle(document.querySelector(':target')).backgroundColor.startsWith('rgb(')"),
                   f"{source.name}: the line that a link leads to is not marked")
    browser.open(book / "index.html")
    for complaint in browser.run(TRY_SEARCH):
        browser.expect(False, complaint)
    for line in (HERE / "searches.tsv").read_text().splitlines():
        if line.startswith("#"):
            continue
        query, expected = line.split("\t", 1)
        found = browser.run("(query) => TileSearch.find(query).slice(0, 1).map((e) => e.page + '\\t' + e.title)[0]", query)
        browser.expect(found == expected, f"the search for '{query}' finds {found!r} first")
    return f"{len(pages)} pages, {links} links"


# --- Figures that a reader may change --------------------------------------------------------------------------------

# For both kinds: set(figure, values) gives controls new values, by what they are called, and says what is shown then.
USE_FIGURES = r"""() => {
  window.use = (kind, index, values) => {
    const figure = document.querySelectorAll(`figure.${kind}`)[index], live = figure.querySelector(".live");
    const controls = Object.fromEntries([...live.querySelectorAll("input, select")].map((control) =>
      [control.getAttribute("aria-label") || control.closest("label").querySelector("span").textContent, control]));
    Object.entries(values).forEach(([name, value], i, all) => {
      controls[name].value = value;
      controls[name].dispatchEvent(new Event("input", { bubbles: i + 1 === all.length }));  // drawn once
    });
    const rows = (svg) => [...(svg ? svg.querySelectorAll("text:not(.row-again)") : [])].map((t) => t.textContent)
      .filter((t) => /^(wavefront|.+ line) \d+$/.test(t));
    const titles = [...live.querySelectorAll("svg title")].map((t) => t.textContent.match(/^words? (\d+)(?: to (\d+))?: /));
    const words = titles.filter((box) => box).flatMap(([, first, last]) =>
      Array.from({ length: (last || first) - first + 1 }, (_, i) => Number(first) + i));
    return {
      picture: [...figure.querySelectorAll(":scope > .scroll svg")].flatMap(rows),
      drawn: [...live.querySelectorAll(".scroll svg")].flatMap(rows),
      words: [...new Set(words)].sort((a, b) => a - b),
      said: live.querySelector("[role=status]").textContent,
      values: Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.value])),
      formulas: [...live.querySelectorAll(".formula code")].map((code) => code.textContent),
      unreachable: Object.values(controls).filter((c) => c.tabIndex < 0).length,
    };
  };
}"""


def measured(file, fields):
    """The rows of a CSV of measured accesses: its fields, and as a page's scripts take it, {words, wordsPerLane, load}."""
    for line in (DATA / file).read_text().splitlines():
        if not line.startswith("#"):
            *row, words = line.split(",")
            assert len(row) == fields, line
            yield row, {"words": [int(word) for word in words.split()], "wordsPerLane": int(row[0]) // 4, "load": row[1] == "ld"}


def figures_of(browser, book, kind):
    """Opens, one after the other, the pages that have such figures; yields each page's number of them and their traces."""
    pages = [page for page in sorted(book.glob("*.html")) if f'src="{kind}.js"' in page.read_text()]
    assert pages, f"no page loads {kind}.js"
    shown = """(kind) => [`figure.${kind} > .scroll`, `figure.${kind} .live`].map((selector) => {
      const e = document.querySelector(selector);
      return e !== null && e.offsetHeight > 0;
    })"""
    browser.width(1400)
    for page in pages:
        browser.media("light")
        browser.open(page)
        browser.run(USE_FIGURES)
        yield page, browser.run("(kind) => [...document.querySelectorAll(`figure.${kind}`)].map((figure) => "
                                "JSON.parse(figure.querySelector('script').textContent))", kind)
        browser.expect(browser.run(shown, kind) == [False, True], "on the screen: a picture, or no drawing")
        browser.collect_errors()
    browser.media("light", "print")
    browser.expect(browser.run(shown, kind) == [True, False], "on paper: a drawing, or no picture")
    browser.media("light")
    browser.cdp("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(pages[0])
    browser.cdp("Emulation.setScriptExecutionDisabled", value=False)
    browser.expect(browser.run(shown, kind) == [True, False], "without script: no picture")


def plural(count, word):
    return f"{count} {word}" + ("" if count == 1 else "es" if word.endswith("s") else "s")


# Gives the first explorer settings of its controls, and tells what is wrong with what it shows: the formula that stands there says where each
# lane's elements are, and so which words are drawn, what they cost, and whether the access is possible.
TRY_SETTING = r"""(values) => {
  const shown = use("explorer", 0, values), wrong = [], count = Number(values["elements a lane"]);
  const stride = Number(values["row length, elements"]) + Number(values["padding, elements"]), cutlass = values.swizzle === "cutlass";
  const [offset, o] = shown.formulas, at = new Function("row", "col", `let o = ${(o || "= 0").split("= ")[1]}; return ${offset};`);
  const lanes = Array.from({ length: 32 }, (_, lane) => {
    const [row, col] = ["row", "column"].map((axis) => Number(values[`${axis}, lane 0`]) + [0, 1, 2, 3, 4].reduce((sum, bit) =>
      sum + (lane >> bit & 1) * values[`${axis}, lane bit ${bit}`], 0));
    const offsets = Array.from({ length: count }, (_, i) => at(row, col + i)), first = offsets[0];
    return { first, possible: first % count === 0 && offsets.every((one, i) => one === first + i) &&
      (cutlass || offsets.every((one) => one - row * stride < values["row length, elements"])) };
  });
  const possible = lanes.every((lane) => lane.possible), words = lanes.map(({ first }) => first * values.element / 4);
  const wordsPerLane = count * values.element / 4, drawn = words.flatMap((word) => Array.from({ length: wordsPerLane }, (_, i) => word + i));
  const cost = possible ? TileBanks.sharedWavefronts({ words, wordsPerLane, load: values.access === "load" }) : 0;
  if (shown.drawn.length !== cost || !shown.said.startsWith(possible ? `${cost} wavefront` : "Not possible.")) wrong.push(`not ${cost}: ${shown.said}`);
  if (String(shown.words) !== String(possible ? [...new Set(drawn)].sort((x, y) => x - y) : [])) wrong.push("other words are drawn");
  return { possible, wrong: wrong.map((what) => `${what} with ${offset} and ${JSON.stringify(values)}`) };
}"""


def settings():
    """Settings of the explorer's controls: each swizzle with narrow and wide accesses down a column and along rows."""
    places = {"down": ([1, 2, 4, 8, 16], [0] * 5), "along": ([0, 0, 0, 1, 2], [1, 2, 4, 0, 0]), "apart": ([2, 0, 1, 0, 4], [0, 8, 0, 4, 0])}
    for swizzle, (bytes_, count), pad, access, (rows, columns) in product(
            ("none", "row", "up", "both", "part", "cutlass"), ((4, 1), (4, 4), (2, 8)), (0, 4), ("load", "store"), places.values()):
        yield {"lane map": "own", "element": bytes_, "elements a lane": count, "access": access, "row length, elements": 128,
               "padding, elements": pad, "swizzle": swizzle, "shift a": 1, "shift b": 3, "n": 8, "B: how many bits flip": 3,
               "M: the lowest flipped": 3, "S: how far above it": 4, "row, lane 0": 1, "column, lane 0": 0,
               **{f"row, lane bit {bit}": step for bit, step in enumerate(rows)},
               **{f"column, lane bit {bit}": count * step for bit, step in enumerate(columns)}}


def explorer_test(browser, book):
    compared = 0
    use = lambda figure, values: browser.run("(...given) => use('explorer', ...given)", figure, values)
    cost = lambda access: browser.run("(access) => TileBanks.sharedWavefronts(access)", access)
    says = lambda count: plural(count, "wavefront") + ". "
    for page, figures in figures_of(browser, book, "explorer"):
        if compared == 0:
            rows = list(measured("h200-shared-memory-wavefronts.csv", 5))
            for (row, access), count in zip(rows, browser.run("(all) => all.map(TileBanks.sharedWavefronts)", [a for _, a in rows])):
                browser.expect(count == int(row[2]), f"banks.js says {count} wavefronts of {row}")
            compared += len(rows)
        for figure, traces in enumerate(figures):
            opened = use(figure, {})
            count = len(opened["picture"])
            browser.expect(count > 0 and opened["drawn"] == opened["picture"] and opened["said"].startswith(says(count)),
                           f"the picture has {opened['picture']}, the explorer draws {opened['drawn']}: {opened['said']}")
            browser.expect(opened["unreachable"] == 0, "controls that the keyboard does not reach")
            for i, trace in enumerate(traces):
                access = {"words": trace["words"], "wordsPerLane": trace["bytes"] // 4, "load": trace["op"] == "load"}
                use(figure, {"access": "store" if access["load"] else "load", "padding, elements": 7})
                shown = use(figure, {"lane map": f"trace-{i}"})
                browser.expect(shown["said"].startswith(says(cost(access))) and shown["values"]["access"] == trace["op"] and
                               shown["values"]["padding, elements"] == str(trace["pad"]), f"{shown['said']} of {trace}")
                wanted = {word + i for word in trace["words"] if word is not None for i in range(trace["bytes"] // 4)}
                browser.expect(shown["words"] == sorted(wanted), f"drawn are the words {shown['words']} of {trace}")
                compared += 2
        if page.name.startswith("09"):  # the script is one
            tried = browser.run(f"(all) => all.map({TRY_SETTING})", list(settings()))
            for complaint in (complaint for one in tried for complaint in one["wrong"]):
                browser.expect(False, complaint)
            browser.expect(0.2 < sum(one["possible"] for one in tried) / len(tried) < 1, "all settings are possible, or few")
            compared += len(tried)
        for bad in ("", "1.5", "65"):
            said = use(0, {"lane map": "rows", "padding, elements": bad})["said"]
            browser.expect(said == "Which number? padding, elements: a whole number from 0 to 64.", f"padding '{bad}': {said}")
        browser.run("() => document.querySelector('figure.explorer button').click()")
        browser.expect(use(0, {})["drawn"] == use(0, {})["picture"], "the button does not bring back the trace")
        url = browser.driver.current_url
        browser.run("""() => document.querySelectorAll("figure.explorer :is(select, input)").forEach((control) =>
          control.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })))""")
        browser.expect(browser.driver.current_url == url, "an arrow key on a control turns the page")
        browser.driver.get(f"{url.split('#')[0]}?#{browser.run('() => document.querySelector(`figure.explorer`).id')}&rows,load,4,1,64,3")
        kept = browser.run("() => [...document.querySelectorAll('.live label')].find((l) => l.textContent.startsWith('padding')).lastChild.value")
        browser.expect("&" in url and kept == "3", "the address does not keep what was chosen")
    return f"{compared} comparisons"


def lookups_test(browser, book):
    masks = [int(mask, 16) for mask in re.findall(r"popcount\(line & (0x[0-9a-f]+)u\)",
                                                  (HERE.parent / "common/sim/rules.hpp").read_text())]
    tag_bank = lambda line: 2 * (bin(line & masks[0]).count("1") % 2) + bin(line & masks[1]).count("1") % 2
    use = lambda figure, values: browser.run("(...given) => use('lookups', ...given)", figure, values)
    counts = "(all) => all.map((a) => [TileLines.lines(a).length, TileLines.tagPasses(a), TileLines.wavefronts(a), TileLines.sectors(a).length])"
    compared = 0
    for _, figures in figures_of(browser, book, "lookups"):
        if compared == 0:
            rows = list(measured("h200-l1-global-accesses.csv", 7))
            for (row, access), found in zip(rows, browser.run(counts, [access for _, access in rows])):
                expected = [round(float(mean)) for mean in row[2:5]]
                if not access["load"] and expected[1] > 7:  # of such stores the rule is a lower bound
                    expected[2] = found[2]
                browser.expect(found[:3] == expected, f"lookups.js says {found[:3]} lines, passes and wavefronts of {row}")
            lines = [3 << bit for bit in range(26)] + list(range(100))
            banks = browser.run("(lines) => lines.map(TileLines.tagBank)", lines)
            browser.expect(banks == [tag_bank(line) for line in lines], "the tag banks are not those of rules.hpp")
            compared += len(rows) + len(lines)
        for figure, traces in enumerate(figures):
            opened = use(figure, {})
            browser.expect(opened["picture"] and opened["drawn"] == opened["picture"],
                           f"the picture has {opened['picture']}, the explorer draws {opened['drawn']}")
            browser.expect(opened["unreachable"] == 0, "controls that the keyboard does not reach")
            for i, trace in enumerate(traces):
                ld, lane_words = trace["ld"], trace["bytes"] // 4
                browser.expect(use(figure, {"access": i})["values"]["words from row to row"] == str(ld), "rows are not as traced")
                for apart in (ld, ld + lane_words, 4096 // lane_words * lane_words, 4096 + lane_words):
                    words = [word // ld * apart + word % ld for word in trace["words"]]
                    (lines, passes, wavefronts, sectors), = browser.run(
                        counts, [{"words": words, "wordsPerLane": lane_words, "load": trace["op"] == "load"}])
                    says = (f"{plural(lines, 'line')}, {plural(sectors, 'sector')}. {plural(passes, 'pass')} of the tags, "
                            f"{plural(wavefronts, 'wavefront')} of the data: ")
                    said = use(figure, {"words from row to row": apart})["said"]
                    browser.expect(said.startswith(says), f"rows {apart} words apart: {said}, not {says}")
                use(figure, {"words from row to row": ld})
                for lane, word in enumerate(trace["words"]):
                    line, says = word // 32, use(figure, {"lane": lane})["said"]
                    expected = (f"Lane {lane}: row {word // ld}, column {word % ld} of {trace['array']}; line {line}, sector "
                                f"{word // 8 % 4}, tag bank {tag_bank(line)}, data bank {word % 32}.")
                    browser.expect(says.endswith(expected), f"expected {expected}, not {says}")
                compared += 4 + WARP
                for bad in ("", "1.5", "0", "65537"):
                    shown = use(figure, {"words from row to row": bad})
                    browser.expect(shown["said"].startswith("Which number? ") and shown["drawn"], f"rows '{bad}' words apart")
    return f"{compared} comparisons"


def main():
    test = {"browser": browser_test, "explorer": explorer_test, "lookups": lookups_test}[sys.argv[1]]
    with tempfile.TemporaryDirectory(prefix="tile-browser-", ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            looked_at = test(browser, Path(sys.argv[2]).resolve())
            browser.collect_errors()
        finally:
            browser.driver.quit()
    for complaint in browser.complaints[:40]:
        print(complaint)
    print(f"{looked_at}, {len(browser.complaints)} complaints")
    return 1 if browser.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
