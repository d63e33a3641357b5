// Before the first paint: the reader's choice of theme, if there is one. Then the button that makes it.
try {
  const theme = localStorage.getItem("tile-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch (error) {
  // Without storage (some browsers refuse it for file://) the system's preference holds.
}

addEventListener("DOMContentLoaded", () => {
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem("tile-theme", root.dataset.theme);
    } catch (error) {
      // The choice then lasts for this page.
    }
  });
});
