// Before the first paint: the reader's choice of theme, if there is one.
try {
  const theme = localStorage.getItem("tile-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch (error) {
  // Without storage (some browsers refuse it for file://) the system's preference holds.
}
