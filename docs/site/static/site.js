// Films, cards and figures follow the theme that the reader chose here.
(() => {
const { body, documentElement: page } = document;
function follow() {
  const { theme } = body.dataset, chosen = theme === "light" || theme === "dark";
  page.style.colorScheme = chosen ? theme : "light dark";
  if (chosen) body.dataset.jpThemeLight = String(theme === "light");
  else delete body.dataset.jpThemeLight;
}
follow();
new MutationObserver(follow).observe(body, { attributeFilter: ["data-theme"] });

// Sphinx calls these headings and does not say of which level
document.querySelectorAll(".caption[role=heading]").forEach((node) => node.setAttribute("aria-level", "2"));

// the film on the front page plays by itself, unless the reader wants nothing to move
if (!matchMedia("(prefers-reduced-motion: reduce)").matches) document.querySelector(".front .play")?.click();
})();
