// Plays one film. A picture is what the steps so far have left in the slots of the page, with what the current step shows on top.
(() => {
const here = document.currentScript;
const roots = here ? [here.closest(".tbt-film")] : document.querySelectorAll(".tbt-film");

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

// Buttons, slider and keys of `root`: the time of one film, or of several that play together. `show` draws a step.
function transport(root, { length, show, step, capture = false }) {
  const find = (name) => root.querySelector("." + name);
  const now = { k: 0, timer: 0, speed: 1 };

  function frame(k) {
    now.k = Math.min(Math.max(k, 0), length() - 1);
    show(now.k);
    const slider = find("scrub");
    slider.max = length() - 1;
    slider.value = now.k;
    slider.setAttribute("aria-valuetext", step(now.k));
    find("clock").textContent = `${now.k + 1} / ${length()}`;
  }

  function playing(on) {
    root.classList.toggle("playing", on);
    find("play").title = on ? "Pause" : "Play";
    find("play").setAttribute("aria-label", find("play").title);
    for (const node of root.querySelectorAll(".says")) node.setAttribute("aria-live", on ? "off" : "polite"); // nobody could listen that fast
  }

  function stop() {
    clearInterval(now.timer);
    now.timer = 0;
    playing(false);
  }

  function play() {
    stop();
    if (now.k >= length() - 1) frame(0);
    playing(true);
    const pace = Math.min(Math.max(36000 / length(), 80), 900) / now.speed;
    now.timer = setInterval(() => {
      if (!root.isConnected || now.k >= length() - 1) stop(); else frame(now.k + 1);
    }, pace);
  }

  const seek = (k) => { stop(); frame(k); };
  const toggle = () => (now.timer ? stop() : play());
  const seekIn = (area) => (area.onclick = (event) => {
    const box = area.getBoundingClientRect();
    seek(Math.floor(((event.clientX - box.left) / box.width) * length()));
  });
  find("play").onclick = toggle;
  find("back").onclick = () => seek(now.k - 1);
  find("next").onclick = () => seek(now.k + 1);
  find("scrub").oninput = (event) => seek(+event.target.value);
  find("speed").onchange = (event) => { now.speed = +event.target.value; if (now.timer) play(); };
  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("select")) return;
    const jump = { ArrowLeft: now.k - 1, ArrowRight: now.k + 1, Home: 0, End: length() - 1 }[event.key];
    if (jump !== undefined) seek(jump);
    else if (event.key === " " && !event.target.closest("button")) toggle();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }, capture);
  return { now, frame, seek, seekIn, stop };
}

async function start(root) {
  const pristine = root.outerHTML;
  const find = (name) => root.querySelector("." + name);
  const list = (selector) => [...root.querySelectorAll(selector)];
  const data = await unpack(find("data").textContent);
  const steps = data.steps.map(([program, kind, line, moved, changes, together, tile]) => ({ program, kind, line, moved, changes, together, tile }));
  const own = new Set(data.own), slots = list("[data-s]"), fading = list("[data-fade]"), choices = list("[data-choose]"), hiding = list("[data-hide]").reverse();
  const meters = list("[data-meter]").map((node) => [node, ...node.dataset.meter.split(" ").map(Number)]);
  const seen = {}, ranks = steps.map(({ program }) => (seen[program] = (seen[program] ?? -1) + 1));
  const summary = find("sub").textContent;
  let sequence = [], only = -1, wave = false;

  const time = transport(root, { length: () => sequence.length, show: draw, step: () => find("caption").textContent });
  // every number of a vector gets a box of its own
  const boxed = (html) => html.replace(/(<span class="?vector[^>]*>)([^<]*)/g, (_, tag, words) => tag + words.split(" ").map((word) => `<b>${word}</b>`).join(" "));
  const markup = (n) => boxed(data.values[n ?? 0]);

  // ---- one step -----------------------------------------------------------------------------------------------------

  function arrange() {
    const current = sequence[time.now.k];
    sequence = steps.map((_, i) => i).filter((i) => only < 0 || steps[i].program === only);
    if (wave) sequence.sort((a, b) => ranks[a] - ranks[b] || steps[a].program - steps[b].program);
    timeline();
    time.frame(sequence.indexOf(current));
  }

  function draw(k) {
    const past = sequence.slice(0, k + 1).map((i) => steps[i]), step = past[k], values = {}, fresh = new Set();
    past.forEach((one, j) => {
      const changes = only < 0 ? one.changes.concat(one.together) : one.changes;
      for (let i = 0; i < changes.length; i += 3) {
        if (own.has(changes[i]) && one.program !== step.program) continue;
        values[changes[i]] = changes[j === k ? i + 1 : i + 2];
        if (j === k) fresh.add(changes[i]);
      }
    });
    for (const node of slots) {
      const slot = +node.dataset.s, value = values[slot] ?? 0;
      if (node.shown === value && !fresh.has(slot)) continue;
      node.innerHTML = markup(value);
      node.shown = value;
    }
    for (const node of fading) [...node.children].forEach((child, age) => (child.innerHTML = faded(past[k - 1 - age], +node.dataset.fade)));
    for (const node of choices) [...node.children].forEach((child, i) => child.setAttribute("display", i === (data.values[values[node.dataset.choose]] || 0) ? "inline" : "none"));
    find("stage").setAttribute("aria-label", find("says").textContent.trim());
    for (const node of hiding) node.hidden = ![...node.querySelectorAll("[data-s]")].some((slot) => slot.textContent);
    find("sub").textContent = summary;
    source(step.line);
    bytes(past);
    programs(past, step);
  }

  function faded(step, slot) {
    const changes = step ? step.changes : [], i = changes.findIndex((n, j) => j % 3 === 0 && n === slot);
    return i < 0 ? "" : markup(changes[i + 1]);
  }

  function source(number) {
    const box = find("source"), line = box.children[number - box.dataset.first];
    box.querySelector(".current")?.classList.remove("current");
    if (!line) return;
    line.classList.add("current");
    const top = line.offsetTop - box.clientHeight / 2 + line.offsetHeight / 2;
    if (line.offsetTop < box.scrollTop + 20 || line.offsetTop + line.offsetHeight > box.scrollTop + box.clientHeight - 20) box.scrollTop = top;
  }

  function bytes(past) {
    meters.forEach(([node, total, allowed], meter) => {
      const moved = past.reduce((all, step) => all + step.moved.reduce((n, m, i) => n + (i % 2 === 0 && m === meter ? step.moved[i + 1] : 0), 0), 0);
      node.querySelector(".bar").style.setProperty("--moved", 100 * moved / Math.max(allowed, total, 1) + "%");
      node.classList.toggle("over", allowed >= 0 && moved > allowed);
      node.querySelector(".moved").textContent = moved.toLocaleString("en") + " B";
    });
  }

  function programs(past, step) {
    const done = {}, all = {};
    for (const { program } of steps) all[program] = (all[program] || 0) + 1;
    for (const { program } of past) done[program] = (done[program] || 0) + 1;
    list(".programs button").forEach((node, i) => {
      node.style.setProperty("--done", Math.round(100 * (done[i] || 0) / (all[i] || 1)) + "%");
      node.classList.toggle("current", i === step.program);
      node.setAttribute("aria-pressed", only === i);
    });
  }

  // ---- one lane -----------------------------------------------------------------------------------------------------

  const inside = (row, column, box) => row >= box[0] && row < box[1] && column >= box[2] && column < box[3];

  // the address of an element, its value, and what the step that is shown does with it
  function lane({ name, short, plane, shape, strides, values, written }, row, column, step, tile) {
    const [rows, columns] = plane, exists = inside(row, column, [0, rows, 0, columns]), index = [];
    let element = (tile ? tile[1] : 0) * rows * columns + row * columns + column;
    if (exists) for (const size of [...shape].reverse()) { index.unshift(element % size); element = Math.floor(element / size); }
    else index.push(...[row, column].slice(-shape.length));
    const offset = index.reduce((sum, i, d) => sum + i * strides[strides.length - index.length + d], 0);
    const value = exists && values[index.reduce((n, i, d) => n * shape[d] + i, 0)];
    const what = `${short}[${index.join(", ")}]` + (exists ? value ? ` = ${value}${written ? " at the end" : ""}` : "" : " does not exist");
    const done = { load: "loaded", store: "stored", atomic: "updated" }[data.kinds[step.kind][0]];
    const now = !tile || !inside(row, column, tile[2]) ? "not in this step" : tile[3].some((box) => inside(row, column, box)) ? `${done} in this step`
      : "masked off, " + (done !== "loaded" ? "not " + done : `so the lane holds ${tile[4] || "nothing defined"}`);
    return `${what} · ${name} + ${offset} · ${now}`;
  }

  find("stage").onclick = (event) => {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(find("stage").getScreenCTM().inverse());
    const step = steps[sequence[time.now.k]];
    find("sub").textContent = summary;
    data.tensors.forEach((tensor, number) => {
      const [left, top, wide, high] = tensor.at, across = Math.floor((x - left) / wide), down = Math.floor((y - top) / high);
      const [row, column] = tensor.turned ? [across, down] : [down, across];
      const tile = step.tile && step.tile[0] === number ? step.tile : null;
      if (!tensor.shape.length || !inside(row, column, tensor.drawn) || (!tile && tensor.shape.slice(0, -2).some((n) => n > 1))) return;
      time.stop();
      find("sub").textContent = lane(tensor, row, column, step, tile);
    });
  };

  const bars = () => sequence.map((i) => data.kinds[steps[i].kind]);
  const notes = () => data.notes.map(([at, ...words]) => [sequence.indexOf(at), ...words]).filter(([k]) => k >= 0);

  function timeline() {
    const n = sequence.length, area = find("bars"), scrub = find("scrub");
    area.setAttribute("viewBox", `0 0 ${n} 1`);
    area.innerHTML = bars().map(([name, high], k) => `<path class="${name}" d="M${k + 0.1} 1h.8v${-high}h-.8z"/>`).join("");
    time.seekIn(area);
    // the slider's knob is below the bar of its step
    scrub.style.width = `calc((100% - 16px) * ${(n - 1) / n} + 16px)`;
    scrub.style.marginLeft = `calc((100% - 16px) / ${2 * n})`;
    find("marks").replaceChildren(...notes().map(([k, label, title]) => {
      const sign = Object.assign(document.createElement("button"), { type: "button", textContent: "▲", title, onclick: () => time.seek(k) });
      sign.setAttribute("aria-label", label);
      sign.style.left = (100 * (k + 0.5)) / n + "%";
      return sign;
    }));
  }

  // ---- what the reader does -----------------------------------------------------------------------------------------

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

  function choose(program) {
    only = program;
    find("who").value = program;
    time.stop();
    arrange();
  }

  find("who").onchange = (event) => choose(+event.target.value);
  find("order").onchange = (event) => { wave = event.target.value === "wave"; time.stop(); arrange(); };
  list(".programs button").forEach((node, i) => (node.onclick = () => choose(only === i ? -1 : i)));
  find("save").onclick = save;
  list("button[data-at]").forEach((node) => (node.onclick = () => { if (only >= 0) choose(-1); time.seek(sequence.indexOf(+node.dataset.at)); }));

  root.classList.add("live");
  root.closest("details")?.addEventListener("toggle", () => time.frame(time.now.k)); // a folded film has no lines to scroll to
  arrange();
  return { title: find("title").textContent, frame: time.frame, bars, notes, transport };
}

for (const root of roots) if (root) root.film ??= start(root);
})();
