"use strict";
window.MathJax = {
  tex: { inlineMath: [["$", "$"]], displayMath: [["$$", "$$"]] },
  options: { skipHtmlTags: ["script", "style", "pre", "code"], ignoreHtmlClass: "code", enableMenu: false },
  svg: { fontCache: "global" },
  startup: { typeset: false },
};

/* What is taller than a slide becomes smaller, whole: nothing may be cut off on a projector. */
function fit(section, height) {
  section.style.transformOrigin = "0 0";
  for (let scale = 1; scale > 0.4; scale -= 0.04) {
    section.style.width = `${100 / scale}%`;
    section.style.transform = scale < 1 ? `scale(${scale})` : "none";
    if (section.scrollHeight * scale <= height) return;
  }
}

function present() {
  MathJax.startup.promise
    .then(() => MathJax.typesetPromise([...document.querySelectorAll(".text")]))
    .then(() =>
      Reveal.initialize({
        width: 1920,
        height: 1080,
        margin: 0,
        center: false,
        minScale: 0.05,
        maxScale: 4,
        hash: true,
        controls: false,
        slideNumber: "c/t",
        transition: "none",
        plugins: [RevealNotes],
        // a film that has the focus takes the keys for itself
        keyboardCondition: () => !document.activeElement || !document.activeElement.closest(".tbt-film"),
      })
    )
    .then(() => {
      const current = () => {
        const slide = Reveal.getCurrentSlide();
        fit(slide, 1080);
        // a film that is not shown yet has no lines to scroll to
        for (const line of slide.querySelectorAll(".source .current")) {
          const box = line.closest(".source");
          box.scrollTop = line.offsetTop - (box.clientHeight - line.offsetHeight) / 2;
        }
      };
      Reveal.on("slidechanged", current);
      current();
      document.documentElement.dataset.ready = "true";
    });
}
