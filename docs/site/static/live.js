// Live cells: edit, check, see card and film. Python runs in a worker (live_worker.js); without it the page keeps its own films.
(() => {
// a film that plays has the class, too
const cells = [...document.querySelectorAll("section.live")];
if (!cells.length) return;
// milliseconds until the card, and from there until the film: finding out why a kernel is wrong takes the longest
const LIMIT = 20_000, LONGER = 120_000;
const SLOW = 30_000;  // until the page says that Python is still loading
const given = new Map(cells.map((cell) => [cell, cell.querySelector(".film")]));  // films of the course's solutions
const base = new URL(".", document.currentScript.src).href;
let worker, ready, running, timer, loading;

// `why`: what ended the worker before, to be said until this one is ready
function start(why = "") {
  ready = false;
  clearTimeout(loading);
  loading = setTimeout(() => say(`${why}Python is still loading: 30 MB the first time, which needs a network. The films below play without it.`, !!why), SLOW);
  worker = new Worker(`${base}live_worker.js`, { type: "module" });
  worker.onmessage = ({ data }) => hear(data, why);
  worker.onerror = (event) => hear({ broken: event.message || "the worker did not start" }, why);
}

function hear(data, why) {
  if (data.ready) {
    ready = true;
    clearTimeout(loading);
    return running ? send() : say("Python is ready.");
  }
  if (data.broken !== undefined) {
    finish();
    if (ready) return say(`The checker could not do its work: ${data.broken.trim().split("\n").at(-1)}`, true);
    worker.terminate();
    worker = undefined;
    clearTimeout(loading);
    console.error(data.broken);
    const again = navigator.onLine ? "Check tries again." : "There is no network; once it is back, Check tries again.";
    return say(`${why}Python could not start, so nothing can be checked. ${again} The films below play without it.`, true);
  }
  const kind = data.card !== undefined ? "card" : "film";
  show(running, kind, data[kind]);
  if (kind === "film") { finish(); return say("Python is ready."); }
  clearTimeout(timer);
  timer = setTimeout(() => stop(LONGER), LONGER);
  say("Looking for the reason, and making the film …");
}

const say = (text, bad) => cells.forEach((cell) => {
  const line = cell.querySelector("[role=status]");
  line.textContent = text;
  line.classList.toggle("bad", !!bad);
});

function show(cell, kind, html) {
  const old = cell.querySelector(`.${kind}`), frame = document.createElement("iframe");
  frame.className = kind;
  frame.title = kind === "card" ? "The verdict on your kernel" : "The film of your kernel";
  frame.hidden = !html;
  frame.onload = () => {
    const page = frame.contentDocument, fit = () => { frame.style.height = `${page.documentElement.offsetHeight + 48}px`; };
    follow(frame);
    page.querySelectorAll("a[href$='.ipynb']").forEach((link) => {
      link.href = `notebooks/${link.getAttribute("href").replace(/ipynb$/, "html")}`;
      link.target = "_parent";
    });
    page.querySelectorAll("details.tbt-fold").forEach((fold) => { fold.open = true; });
    new ResizeObserver(fit).observe(page.documentElement);
    fit();
  };
  frame.srcdoc = html;
  old.replaceWith(frame);
}

// frames follow the theme that the reader chose on the page
const follow = (frame) => {
  const page = frame.contentDocument?.documentElement, { jpThemeLight } = document.body.dataset;
  if (!page?.querySelector("body")) return;
  page.style.colorScheme = document.documentElement.style.colorScheme;
  page.style.background = "none";
  page.querySelector("body").style.cssText = "margin:12px 0;padding:0;background:none";
  if (jpThemeLight) page.querySelector("body").dataset.jpThemeLight = jpThemeLight;
  else delete page.querySelector("body").dataset.jpThemeLight;
};
new MutationObserver(() => document.querySelectorAll(".live iframe").forEach(follow)).observe(document.documentElement, { attributeFilter: ["style"] });

function send() {
  say("Checking …");
  running.querySelectorAll("iframe").forEach((frame) => { frame.removeAttribute("srcdoc"); frame.style.height = 0; });
  timer = setTimeout(() => stop(LIMIT), LIMIT);
  worker.postMessage({ puzzle: running.dataset.puzzle, text: running.querySelector("textarea").value });
}

function stop(limit) {
  worker.terminate();
  running.querySelector(".film").replaceWith(given.get(running));
  finish();
  const why = `Stopped: the kernel was still running after ${limit / 1000} seconds. Is there a loop that never ends? `;
  say(`${why}Python starts anew.`, true);
  start(why);
}

function finish() {
  clearTimeout(timer);
  running = undefined;
  cells.forEach((cell) => { cell.querySelector(".check").disabled = false; });
}

for (const cell of cells) {
  const text = cell.querySelector("textarea"), check = cell.querySelector(".check"), stub = text.value;
  text.value = sessionStorage.getItem(`live ${cell.dataset.puzzle}`) ?? stub;
  text.rows = stub.split("\n").length + 6;
  text.oninput = () => sessionStorage.setItem(`live ${cell.dataset.puzzle}`, text.value);
  text.onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey)) { event.preventDefault(); check.click(); }
    if (event.key !== "Tab" || event.shiftKey) return;
    event.preventDefault();
    document.execCommand("insertText", false, "    ");
  };
  check.onclick = () => {
    running = cell;
    cells.forEach((other) => { other.querySelector(".check").disabled = true; });
    if (ready) return send();
    if (!worker) start();
    say("Checking as soon as Python has started …");
  };
  cell.querySelector(".reset").onclick = () => { text.value = stub; text.oninput(); text.focus(); };
}
say("Python starts …");
start();
})();
