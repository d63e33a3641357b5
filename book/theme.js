// Before the first paint: the reader's choices, if there are any. Then the buttons that make them.
{
  const root = document.documentElement, kept = { theme: ["light", "dark"], marks: ["shown", "quiet"] };
  try {
    for (const name in kept) if (kept[name].includes(localStorage.getItem(`tile-${name}`))) root.dataset[name] = localStorage.getItem(`tile-${name}`);
  } catch (error) {}  // without storage (some browsers refuse it for file://) the system's preference holds
  addEventListener("DOMContentLoaded", () => {
    const chooses = (name, isFirst) => document.getElementById(name)?.addEventListener("click", () => {
      root.dataset[name] = kept[name][isFirst() ? 1 : 0];
      try {
        localStorage.setItem(`tile-${name}`, root.dataset[name]);
      } catch (error) {}  // the choice then lasts for this page
    });
    chooses("theme", () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "light");
    chooses("marks", () => root.dataset.marks === "shown");
    // Where over a tenth of the text is marked, marks are quiet: they show under the pointer.
    const length = (what) => [...document.querySelectorAll(what)].reduce((sum, e) => sum + e.textContent.length, 0);
    const marked = length("article :is(p, li) :is(.claim, .number-link:not(.claim *))");
    root.dataset.marks ||= marked > 0.1 * length("article :is(p, li)") ? "quiet" : "shown";
  });
}
