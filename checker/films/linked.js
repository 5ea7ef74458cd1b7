// Plays several films together: one play button, one time line, a lane for each film. A film that has ended waits for the others.
(() => {
const here = document.currentScript;
const groups = here ? [here.closest(".tbt-linked")] : document.querySelectorAll(".tbt-linked:not(.live)");

async function start(group) {
  group.classList.add("live");
  const films = await Promise.all([...group.querySelectorAll(".tbt-film")].map((root) => root.film).filter(Boolean));
  const lanes = films.map((film) => film.bars()), length = Math.max(...lanes.map((lane) => lane.length));
  group.querySelector(".lanes").innerHTML = lanes.map((lane, i) => {
    const bars = lane.map(([name, high], k) => `<path class="${name}" d="M${k + 0.1} 1h.8v${-high}h-.8z"/>`);
    const notes = films[i].notes().map(([k]) => `<path class="note" d="M${k + 0.1} -.05h.8v-.25h-.8z"/>`);
    return `<div class="lane"><span></span><svg viewBox="0 0 ${length} 1" preserveAspectRatio="none" aria-hidden="true">${bars.join("")}${notes.join("")}</svg></div>`;
  }).join("");
  group.querySelectorAll(".lane span").forEach((node, i) => (node.textContent = films[i].title));
  const time = films[0].transport(group, {
    length: () => length,
    show: (k) => films.forEach((film, i) => film.frame(Math.min(k, lanes[i].length - 1))),
    step: (k) => `step ${k + 1} of ${length}`,
    capture: true, // a key in one of the films is meant for all of them
  });
  group.querySelectorAll(".lane svg").forEach(time.seekIn);
  time.frame(0);
}

for (const group of groups) if (group && !group.classList.contains("live")) start(group);
})();
