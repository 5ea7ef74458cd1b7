// Plays one film. A picture is what the steps so far have left in the slots of the page, and over it what the step shows.
(() => {
const here = document.currentScript;
const roots = here ? [here.closest(".tbt-film")] : document.querySelectorAll(".tbt-film:not(.live)");
const LEVELS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";

// ---- shapes: as svg.py draws them ---------------------------------------------------------------------------------

const pixels = (v) => String(Math.floor(v * 10 + 0.5) / 10);
const block = (x, y, w, h) => `M${pixels(x)} ${pixels(y)}h${pixels(w)}v${pixels(h)}h${pixels(-w)}z`;
const path = (names, d, more = "") => d && names.split("|").map((name) => `<path class="${name}" d="${d}" ${more}/>`).join("");

function cells(levels, [x, y, w, h, rows, columns, signed, down, across]) {
  const paths = {}, high = Math.ceil(down * rows - 1e-9), wide = Math.ceil(across * columns - 1e-9);
  const step = Math.max(1, Math.floor(3 / Math.min(w / columns, h / rows) + 0.5));
  let struck = "", out = "";
  for (let r = 0; r < high; r++) for (let c = 0, start = 0; c < wide; c++) {
    const level = levels[r * columns + c];
    if (signed !== 1 && level === "-" && (r + c) % step === 0) struck += `M${pixels(x + c * w / columns)} ${pixels(y + (r + 1) * h / rows)}l${pixels(w / columns)} ${pixels(-h / rows)}`;
    if (c + 1 < wide && levels[r * columns + c + 1] === level) continue;
    paths[level] = (paths[level] || "") + block(start, r, c + 1 - start, 1);
    start = c + 1;
  }
  for (const level in signed === 2 ? {} : paths) {
    const n = LEVELS.indexOf(level);
    if (n >= 0) out += path(signed === 1 ? (n < 32 ? "minus" : "plus") : "heat", paths[level], `fill-opacity="${(signed === 1 ? 0.94 * Math.abs(n - 31.5) / 31.5 : 0.04 + 0.94 * n / 63).toFixed(2)}"`);
    else if (signed === 1 || level !== "-") out += path("lost", paths[level]);
  }
  return `<g transform="translate(${pixels(x)} ${pixels(y)}) scale(${w / columns} ${h / rows})">${out}</g>` + path("masked thin", struck);
}

function bars(name, levels, [x, y, w, h, inside]) {
  const step = h / levels.length;
  return path(name, [...levels].map((level, r) => {
    const n = LEVELS.indexOf(level);
    return n < 0 || r >= inside * levels.length ? "" : block(x + 1, y + r * step, 1 + (w - 3) * n / 63, Math.max(step - 0.7, 0.7));
  }).join(""));
}

// every number of a vector gets a box of its own
const boxed = (html) => html.replace(/(<span class="?vector[^>]*>)([^<]*)/g, (_, tag, words) => tag + words.split(" ").map((word) => `<b>${word}</b>`).join(" "));

// slot, now, after, …
const triples = ([stay = [], go = [], both = []]) => [stay.flatMap((n, i) => (i % 2 ? [n, n] : [n])), go.flatMap((n, i) => (i % 2 ? [n, 0] : [n])), both].flat();

function start(root) {
  const pristine = root.outerHTML;
  const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
  const find = (name) => root.querySelector("." + name);
  const list = (selector) => [...root.querySelectorAll(selector)];
  const steps = data.steps.map(([program, kind, line, moved, changes, together = []]) => ({ program, kind, line, moved, changes: triples(changes), together: triples(together) }));
  const own = new Set(data.own), slots = list("[data-s]"), fading = list("[data-fade]"), choices = list("[data-choose]"), hiding = list("[data-hide]").reverse();
  const meters = list("[data-meter]").map((node) => [node, ...node.dataset.meter.split(" ").map(Number)]);
  const MEASURE = find("measure")?.textContent;
  const now = { k: 0, program: -1, wave: false, speed: 1, timer: 0, sequence: [] };
  const seen = {}, ranks = steps.map(({ program }) => (seen[program] = (seen[program] ?? -1) + 1));

  const numbers = (n) => data.strings[n].split(" ").map(Number);
  const shape = (s) => {
    if (typeof s === "string") return s;
    if (typeof s[0] === "number") return cells(data.strings[s[0]], numbers(s[1]));
    return s.length === 2 ? path(s[0], data.strings[s[1]]) : bars(s[0], data.strings[s[1]], numbers(s[2]));
  };
  const drawn = (n) => {
    const value = data.values[n ?? 0];
    return Array.isArray(value) ? value.map(shape).join("") : boxed(String(value));
  };

  // ---- one step -----------------------------------------------------------------------------------------------------

  function arrange() {
    const kept = steps.map((_, i) => i).filter((i) => now.program < 0 || steps[i].program === now.program);
    if (now.wave) kept.sort((a, b) => ranks[a] - ranks[b] || steps[a].program - steps[b].program);
    const current = now.sequence[now.k];
    now.sequence = kept;
    now.k = Math.max(0, kept.indexOf(current));
    timeline();
    frame(now.k);
  }

  const changesOf = (step) => (now.program < 0 ? step.changes.concat(step.together) : step.changes);

  function frame(k) {
    now.k = Math.min(Math.max(k, 0), now.sequence.length - 1);
    const past = now.sequence.slice(0, now.k + 1).map((i) => steps[i]), step = past[now.k], values = {}, fresh = new Set();
    past.forEach((one, j) => {
      const changes = changesOf(one), last = j === now.k;
      for (let i = 0; i < changes.length; i += 3) {
        if (own.has(changes[i]) && one.program !== step.program) continue;
        values[changes[i]] = changes[last ? i + 1 : i + 2];
        if (last) fresh.add(changes[i]);
      }
    });
    for (const node of slots) {
      const slot = +node.dataset.s, value = values[slot] ?? 0;
      if (node.shown === value && !fresh.has(slot)) continue;
      node.innerHTML = drawn(value);
      node.shown = value;
    }
    for (const node of fading) [...node.children].forEach((child, age) => (child.innerHTML = faded(past[now.k - 1 - age], +node.dataset.fade)));
    for (const node of choices) [...node.children].forEach((child, i) => child.setAttribute("display", i === (data.values[values[node.dataset.choose]] || 0) ? "inline" : "none"));
    find("stage").setAttribute("aria-label", find("says").textContent.trim());
    for (const node of hiding) node.hidden = ![...node.querySelectorAll("[data-s]")].some((slot) => slot.textContent);
    source(step.line);
    bytes(past);
    programs(past, step);
    const slider = find("scrub");
    slider.max = now.sequence.length - 1;
    slider.value = now.k;
    slider.setAttribute("aria-valuetext", find("caption").textContent);
    find("clock").textContent = `${now.k + 1} / ${now.sequence.length}`;
  }

  function faded(step, slot) {
    const changes = step ? step.changes : [], i = changes.findIndex((n, j) => j % 3 === 0 && n === slot);
    return i < 0 ? "" : drawn(changes[i + 1]);
  }

  function source(number) {
    const box = find("source"), line = box.children[number - box.dataset.first];
    box.querySelector(".current")?.classList.remove("current");
    if (!line) return;
    line.classList.add("current");
    const top = line.offsetTop - box.clientHeight / 2 + line.offsetHeight / 2;
    if (line.offsetTop < box.scrollTop + 20 || line.offsetTop + line.offsetHeight > box.scrollTop + box.clientHeight - 20) box.scrollTop = top;
  }

  // ---- bytes: of one program alone, its own are the measure, for the budget is that of the whole launch --------------

  const scaled = (v, unit) => v.toFixed(v < 100 ? 1 : 0) + unit;
  const say = (b) => (b < 1e5 ? b.toLocaleString("en") + " B" : b < 1e6 ? scaled(b / 1e3, " kB") : b < 1e9 ? scaled(b / 1e6, " MB") : scaled(b / 1e9, " GB"));
  const sum = (group, meter) => group.reduce((all, { moved }) => all + moved.reduce((n, m, i) => n + (i % 2 === 0 && m === meter ? moved[i + 1] : 0), 0), 0);

  function bytes(past) {
    const one = now.program >= 0, mine = one ? steps.filter((s) => s.program === now.program) : [];
    if (MEASURE) find("measure").textContent = one ? `bytes so far, of all that program ${data.programs[now.program]} moves` : MEASURE;
    meters.forEach(([node, total, allowed, whole, item], i) => {
      const moved = sum(past, i), all = Math.max(one ? sum(mine, i) : Math.max(allowed, total), 1), over = !one && allowed >= 0 && moved > allowed;
      const bar = node.querySelector(".bar");
      bar.style.setProperty("--moved", (100 * moved / all).toFixed(2) + "%");
      bar.style.setProperty("--budget", one || allowed < 0 ? "-9px" : (100 * allowed / all).toFixed(2) + "%");
      node.classList.toggle("over", over);
      const passes = whole && !one ? `, ${+(moved / whole).toFixed(2)} ${moved === whole ? "pass" : "passes"}` : "";
      const updates = item ? moved / item : 0, of = one ? sum(mine, i) : allowed;
      node.querySelector(".words").textContent = say(moved) + (of < 0 ? "" : ` of ${say(of)}`) + passes + (over ? `: ${say(moved - allowed)} too many` : "") +
        (item ? `, ${updates.toLocaleString("en")} atomic update${updates === 1 ? "" : "s"}` : "");
    });
  }

  function programs(past, step) {
    const done = {}, all = {};
    for (const { program } of steps) all[program] = (all[program] || 0) + 1;
    for (const { program } of past) done[program] = (done[program] || 0) + 1;
    list(".programs button").forEach((node, i) => {
      node.style.setProperty("--done", Math.round(100 * (done[i] || 0) / (all[i] || 1)) + "%");
      node.classList.toggle("current", i === step.program);
      node.setAttribute("aria-pressed", now.program === i);
    });
  }

  function timeline() {
    const n = now.sequence.length, d = data.kinds.map(() => ""), round = (v) => Math.round(v * 1e4) / 1e4;
    now.sequence.forEach((i, k) => { d[steps[i].kind] += `M${round(k + 0.1)} 1h.8v${-data.kinds[steps[i].kind][1]}h-.8z`; });
    const area = find("bars");
    area.setAttribute("viewBox", `0 0 ${n} 1`);
    area.innerHTML = d.map((data_, kind) => path(data.kinds[kind][0], data_)).join("");
    // the slider's knob stands under the bar of its step
    find("scrub").style.width = `calc((100% - 16px) * ${(n - 1) / n} + 16px)`;
    find("scrub").style.marginLeft = `calc((100% - 16px) / ${2 * n})`;
    area.onclick = (event) => {
      const box = area.getBoundingClientRect();
      seek(Math.floor(((event.clientX - box.left) / box.width) * n));
    };
    find("marks").replaceChildren(...data.notes.flatMap(([at, label, title]) => {
      const k = now.sequence.indexOf(at);
      if (k < 0) return [];
      const sign = Object.assign(document.createElement("button"), { type: "button", textContent: "▲", title, onclick: () => seek(k) });
      sign.setAttribute("aria-label", label);
      sign.style.left = (100 * (k + 0.5)) / n + "%";
      return [sign];
    }));
  }

  // ---- what the reader does -----------------------------------------------------------------------------------------

  function seek(k) { stop(); frame(k); }

  function name(label) {
    find("play").setAttribute("aria-label", label);
    find("play").title = label;
  }

  // the film as it came, as a page of its own
  function save() {
    const title = find("title").textContent, link = document.createElement("a"), head = document.createElement("title");
    head.textContent = title;
    const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${head.outerHTML}</head><body>${pristine}</body></html>`;
    link.href = URL.createObjectURL(new Blob([page], { type: "text/html" }));
    link.download = title.replace(/[^\w]+/g, "_").replace(/^_|_$/g, "") + ".html";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function stop() {
    clearInterval(now.timer);
    now.timer = 0;
    root.classList.remove("playing");
    name("Play");
    find("says").setAttribute("aria-live", "polite");
  }

  function play() {
    stop();
    if (now.k >= now.sequence.length - 1) frame(0);
    root.classList.add("playing");
    name("Pause");
    find("says").setAttribute("aria-live", "off"); // sentences that nobody could listen to in time
    const pace = Math.min(Math.max(36000 / now.sequence.length, 80), 900) / now.speed;
    now.timer = setInterval(() => {
      if (!root.isConnected || now.k >= now.sequence.length - 1) stop(); else frame(now.k + 1);
    }, pace);
  }

  const toggle = () => (now.timer ? stop() : play());

  function choose(program) {
    now.program = program;
    find("who").value = program;
    stop();
    arrange();
  }

  find("play").onclick = toggle;
  find("back").onclick = () => seek(now.k - 1);
  find("next").onclick = () => seek(now.k + 1);
  find("scrub").oninput = (event) => seek(+event.target.value);
  find("speed").onchange = (event) => { now.speed = +event.target.value; if (now.timer) play(); };
  find("who").onchange = (event) => choose(+event.target.value);
  find("order").onchange = (event) => { now.wave = event.target.value === "wave"; stop(); arrange(); };
  list(".programs button").forEach((node, i) => (node.onclick = () => choose(now.program === i ? -1 : i)));
  find("save").onclick = save;
  list("button[data-at]").forEach((node) => (node.onclick = () => { if (now.program >= 0) choose(-1); seek(now.sequence.indexOf(+node.dataset.at)); }));

  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("select")) return;
    const jump = { ArrowLeft: now.k - 1, ArrowRight: now.k + 1, Home: 0, End: now.sequence.length - 1 }[event.key];
    if (jump !== undefined) seek(jump);
    else if (event.key === " " && !event.target.closest("button")) toggle();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  root.classList.add("live");
  root.closest("details")?.addEventListener("toggle", () => frame(now.k)); // what is folded has no lines to scroll to
  root.film = { seek, title: find("title").textContent, bars: () => now.sequence.map((i) => data.kinds[steps[i].kind]), notes: () => data.notes.map(([at, ...said]) => [now.sequence.indexOf(at), ...said]).filter(([k]) => k >= 0) };
  arrange();
}

for (const root of roots) if (root && !root.classList.contains("live")) start(root);
})();
