// Plays several films together: one play button, one time line, a lane for each film. A film that has ended waits for the others.
(() => {
const here = document.currentScript;
const groups = here ? [here.closest(".tbt-linked")] : document.querySelectorAll(".tbt-linked:not(.live)");

function start(group) {
  const films = [...group.querySelectorAll(".tbt-film")].map((root) => root.film).filter(Boolean);
  if (!films.length) return;
  const bar = group.querySelector(".together"), find = (name) => bar.querySelector("." + name);
  const lanes = films.map((film) => film.bars()), length = Math.max(...lanes.map((lane) => lane.length));
  const now = { k: 0, timer: 0, speed: 1 };

  find("lanes").innerHTML = lanes.map((lane, i) => {
    const bars = lane.map(([name, high], k) => `<path class="${name}" d="M${k + 0.1} 1h.8v${-high}h-.8z"/>`);
    const notes = films[i].notes().map(([k]) => `<path class="note" d="M${k + 0.1} -.05h.8v-.25h-.8z"/>`);
    return `<div class="lane"><span></span><svg viewBox="0 0 ${length} 1" preserveAspectRatio="none" aria-hidden="true">${bars.join("")}${notes.join("")}</svg></div>`;
  }).join("");
  bar.querySelectorAll(".lane span").forEach((node, i) => (node.textContent = films[i].title));

  function frame(k) {
    now.k = Math.min(Math.max(k, 0), length - 1);
    films.forEach((film, i) => film.seek(Math.min(now.k, lanes[i].length - 1)));
    const scrub = find("scrub");
    scrub.max = length - 1;
    scrub.value = now.k;
    scrub.setAttribute("aria-valuetext", `step ${now.k + 1} of ${length}`);
    find("clock").textContent = `${now.k + 1} / ${length}`;
  }

  function name(label, live) {
    find("play").setAttribute("aria-label", label);
    find("play").title = label;
    group.classList.toggle("playing", label === "Pause");
    group.querySelectorAll(".says").forEach((node) => node.setAttribute("aria-live", live));
  }

  function stop() {
    clearInterval(now.timer);
    now.timer = 0;
    name("Play", "polite");
  }

  function play() {
    stop();
    if (now.k >= length - 1) frame(0);
    name("Pause", "off");
    now.timer = setInterval(() => {
      if (!group.isConnected || now.k >= length - 1) return stop();
      frame(now.k + 1);
      name("Pause", "off");
    }, Math.min(Math.max(36000 / length, 80), 900) / now.speed);
  }

  const seek = (k) => { stop(); frame(k); };
  const toggle = () => (now.timer ? stop() : play());
  find("play").onclick = toggle;
  find("back").onclick = () => seek(now.k - 1);
  find("next").onclick = () => seek(now.k + 1);
  find("scrub").oninput = (event) => seek(+event.target.value);
  find("speed").onchange = (event) => { now.speed = +event.target.value; if (now.timer) play(); };
  bar.querySelectorAll(".lane svg").forEach((lane) => {
    lane.onclick = (event) => {
      const box = lane.getBoundingClientRect();
      seek(Math.floor(((event.clientX - box.left) / box.width) * length));
    };
  });
  // a key in one of the films is meant for all of them
  group.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("select")) return;
    const jump = { ArrowLeft: now.k - 1, ArrowRight: now.k + 1, Home: 0, End: length - 1 }[event.key];
    if (jump !== undefined) seek(jump);
    else if (event.key === " " && !event.target.closest("button")) toggle();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);

  group.classList.add("live");
  frame(0);
}

for (const group of groups) if (group && !group.classList.contains("live")) start(group);
})();
