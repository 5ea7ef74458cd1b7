// Plays one film. Everything that is seen is drawn from scratch by frame(k): moment k of the chosen sequence of events.
(() => {
const here = document.currentScript;
const roots = here ? [here.closest(".tbt-film")] : document.querySelectorAll(".tbt-film:not(.live)");
const LOAD = 0, STORE = 1, ATOMIC = 2, DOT = 3;
const KIND = ["load", "store", "atomic", "dot"];
const TRAIL = 8;
const LEVELS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";
// what records are made of; `cells`, `loops`, `rows`, `slice` and `width` are also names of others
// own fields: without mark label ux uy columns transposed node program kind panel line tile bytes delta masked outside box active runs lead
// own fields: sequence wave speed timer facts seen sign count marks past now

// packing.py says how the data are written
function unpack(data) {
  const tiles = data.tiles.map(([slice, label, box, active, runs]) => ({ slice, label, box, active: active === 1 ? box : active, runs }));
  data.events = data.events.flatMap((list, program) => list.map(([site = 0, tile = 0, loop = 0, ...delta]) => {
    const [kind = 0, panel = 0, line = 0, bytes = 0, masked = 0, without = 0, outside = 0] = data.sites[site];
    return { program, kind, panel, line, tile: tiles[tile - 1], bytes, loops: data.loops[loop], delta, masked, without, outside };
  }));
  data.cells = data.cells.map((cells) => cells && cells.split(" "));
  data.vals = data.vals.map(parted);
  for (const part of [data.scores, data.states]) if (part) {
    let last;
    part.at = part.at.map((row) => (last = row ? row.map((n) => n - 1) : last));
    for (const list of [part.heats, part.accs, part.alphas, part.sums]) if (list) runs(list);
  }
  if (data.sides) runs(data.sides[3]);
  return data;
}

// "~", a level and how many: that level again and again
function runs(list) {
  list.forEach((item, i) => {
    if (Array.isArray(item)) runs(item);
    else if (item.length) list[i] = item.split("~").map((text, n) => (n ? text[0].repeat(LEVELS.indexOf(text[1]) + 1) + text.slice(2) : text)).join("");
  });
}

function parted(value) {
  if (!Array.isArray(value)) return value;
  const [first, many, ...more] = value;
  if (typeof many === "number") return [...Array.from({ length: many }, (_, i) => (first === +first ? String(first + i) : first)), ...more];
  return value.length === 1 && !Array.isArray(first) ? first.split(" ").map(whole) : value.map(parted);
}

// a fraction with the zeros at its ends: six characters
function whole(text) {
  const sign = text[0] === "-" ? "-" : "", digits = text.slice(sign.length);
  return digits.includes(".") && !digits.includes("e") ? (sign + (digits[0] === "." ? 0 : "") + digits).padEnd(6, 0) : text;
}

function start(root) {
  const data = unpack(JSON.parse(root.querySelector("script[type='application/json']").textContent));
  const find = (name) => root.querySelector("." + name);
  const events = data.events;
  const panels = data.panels.map((p, i) => ({
    label: p[0], x: p[1], y: p[2], ux: p[3], uy: p[4], rows: p[5], cols: p[6],
    r0: p[7], c0: p[8], r1: p[9], c1: p[10], lead: p[11],
    columns: p[12], width: p[13], transposed: p[14], cells: data.cells[i], written: data.written[i], node: root.querySelectorAll(".stage .panel")[i],
  }));
  const now = { k: 0, program: -1, wave: false, speed: 1, timer: 0, sequence: [] };
  const MEASURE = find("measure").textContent;
  const ranks = rankInProgram(), next = nextInProgram();

  function controls() {
    const icon = (d, name = "") => `<svg class="${name}" viewBox="0 0 16 16" aria-hidden="true"><path d="${d}"/></svg>`;
    const button = (name, label, inside) => `<button type="button" class="${name}" aria-label="${label}">${inside}</button>`;
    const select = (name, label, options) => `<select class="${name}" aria-label="${label}">${options.map(([value, text]) => `<option value="${value}">${text}</option>`).join("")}</select>`;
    const names = data.programs;
    find("controls").innerHTML = '<div class="time">' + (alarms ? '<div class="marks"></div>' : "") + '<svg class="bars" preserveAspectRatio="none" aria-hidden="true"></svg></div>' +
      '<input class="scrub" type="range" min="0" value="0" aria-label="Moment"><div class="buttons">' +
      button("back", "One step back", icon("M3 2h2v12H3zM14 2v12L6 8z")) +
      button("play", "Play", icon("M4 2l10 6-10 6z", "play-icon") + icon("M3 2h4v12H3zM9 2h4v12H9z", "pause-icon")) +
      button("next", "One step on", icon("M11 2h2v12h-2zM2 2l8 6-8 6z")) +
      '<span class="clock"></span>' +
      select("speed", "Speed", [[0.5, "½×"], [1, "1×"], [2, "2×"], [4, "4×"]]) +
      select("who", "Which programs", [[-1, "all programs"], ...names.map((name, i) => [i, "program " + name])]) +
      select("order", "Order of programs", [["one", "one at a time"], ["wave", "all in a wave"]]) + "</div>" +
      (names.length > 1 && names.length <= 32 ? `<div class="programs"><span>programs</span>${names.map((name) => button("", "Only program " + name, name)).join("")}</div>` : "") +
      '<p class="note">A GPU runs programs side by side and in no promised order; the order you see here is a choice of the film.</p>';
    find("speed").value = 1;
  }

  function rankInProgram() {
    const seen = {};
    return events.map((e) => (seen[e.program] = (seen[e.program] ?? -1) + 1));
  }

  function nextInProgram() {
    const last = {}, out = [];
    events.forEach((e, i) => { if (last[e.program] !== undefined) out[last[e.program]] = i; last[e.program] = i; });
    return out;
  }

  // the elements of one slice that a tile really touched, as rectangles [r0, r1, c0, c1]
  function touched(tile) {
    if (tile.runs) return tile.runs.map((r) => [r[0], r[0] + 1, r[1], r[2]]);
    return tile.active ? [tile.active] : [];
  }

  function eachElement(panel, tile, visit) {
    for (const [r0, r1, c0, c1] of touched(tile))
      for (let r = Math.max(r0, 0); r < Math.min(r1, panel.rows); r++)
        for (let c = Math.max(c0, 0); c < Math.min(c1, panel.cols); c++) visit((tile.slice * panel.rows + r) * panel.cols + c);
  }

  function arrange() {
    const kept = events.map((_, i) => i).filter((i) => now.program < 0 || events[i].program === now.program);
    if (now.wave) kept.sort((a, b) => ranks[a] - ranks[b] || events[a].program - events[b].program);
    const current = now.sequence[now.k];
    now.sequence = kept;
    now.k = Math.max(0, kept.indexOf(current));
    drawTimeline();
    frame(now.k);
  }

  // ---- geometry -------------------------------------------------------------------------------------------------

  const round = (v) => Math.round(v * 10) / 10;
  const clamp = (v, low, high) => Math.min(Math.max(v, low), high);

  function place(p, box) {
    let [r0, r1, c0, c1] = [clamp(box[0], p.r0, p.r1), clamp(box[1], p.r0, p.r1), clamp(box[2], p.c0, p.c1), clamp(box[3], p.c0, p.c1)];
    if (p.transposed) [r0, r1, c0, c1] = [c0, c1, r0, r1];
    const x0 = p.x + c0 * p.ux, x1 = p.x + c1 * p.ux, y0 = p.y + r0 * p.uy, y1 = p.y + r1 * p.uy;
    return { x: round(x0), y: round(y0), w: round(Math.max(x1 - x0, 2)), h: round(Math.max(y1 - y0, 2)) };
  }

  const path = (name, d, more = "") => d && `<path class="${name}" d="${d}" ${more}/>`;
  const block = (q) => `M${q.x} ${q.y}h${q.w}v${q.h}h${-q.w}z`;
  const rect = (q, name) => path(name, block(q));
  const bounds = (x, y, w, h) => ({ x: round(x), y: round(y), w: round(w), h: round(h) });

  function hatch(q, step, back) {
    let d = "";
    for (let t = step; t < q.w + q.h; t += step) {
      const ax = Math.min(t, q.w), ay = Math.max(0, t - q.w), bx = Math.max(0, t - q.h), by = Math.min(t, q.h);
      d += back
        ? `M${round(q.x + q.w - ax)} ${round(q.y + ay)}L${round(q.x + q.w - bx)} ${round(q.y + by)}`
        : `M${round(q.x + ax)} ${round(q.y + ay)}L${round(q.x + bx)} ${round(q.y + by)}`;
    }
    return d;
  }

  // ---- one moment -----------------------------------------------------------------------------------------------

  function frame(k) {
    now.k = clamp(k, 0, now.sequence.length - 1);
    const past = now.sequence.slice(0, now.k + 1).map((i) => events[i]);
    const e = past[past.length - 1];
    panels.forEach((p, i) => drawPanel(p, i, past, e));
    if (drawSides) drawSides(past, now.sequence[now.k]);
    drawCaption(e, past);
    if (drawScores) drawScores(now.sequence[now.k], now.sequence.slice(0, now.k + 1));
    if (drawStates) drawStates(now.sequence[now.k], now.sequence.slice(0, now.k + 1));
    drawState(e, now.sequence[now.k]);
    drawSource(e);
    drawTraffic(past);
    drawPrograms(past, e);
    const slider = find("scrub");
    slider.max = now.sequence.length - 1;
    slider.value = now.k;
    slider.setAttribute("aria-valuetext", find("caption").textContent);
    find("clock").textContent = `${now.k + 1} / ${now.sequence.length}`;
  }

  function sliceOf(i, past, e) {
    let any = 0, found = false;
    for (let j = past.length - 1; j >= 0; j--) {
      if (past[j].panel !== i || !past[j].tile) continue;
      if (past[j].program === e.program) return past[j].tile.slice;
      if (!found) { any = past[j].tile.slice; found = true; }
    }
    return any;
  }

  function drawPanel(p, i, past, e) {
    const slice = sliceOf(i, past, e);
    const mine = past.filter((x) => x.panel === i && x.tile && x.tile.slice === slice);
    let loads = "", writes = "";
    for (const x of mine) for (const box of touched(x.tile)) {
      if (x.kind === LOAD) loads += block(place(p, box)); else if (x.kind === STORE) writes += block(place(p, box));
    }
    let under = path("seen load", loads) + path("seen store", writes), over = "";
    if (atomics) under += atomics.seen(p, mine);
    past.slice(-TRAIL - 1, -1).forEach((x, j, trail) => {
      if (x.panel !== i || !x.tile || x.tile.slice !== slice) return;
      const boxes = x.tile.runs ? touched(x.tile) : [x.tile.box];
      over += path("trail " + KIND[x.kind], boxes.map((box) => block(place(p, box))).join(""), `opacity="${round(0.1 + 0.6 * (j + 1) / trail.length)}"`);
    });
    if (e.panel === i && e.tile) {
      under += fills(p, e);
      over += outlines(p, e);
    }
    p.node.querySelector(".under").innerHTML = under;
    p.node.querySelector(".over").innerHTML = over;
    if (p.lead.length) p.node.querySelector(".name").textContent = p.label + unravel(slice, p.lead);
    if (p.cells && writeCells) writeCells(p, i, slice, past);
  }

  function unravel(slice, lead) {
    const index = [];
    for (const extent of [...lead].reverse()) { index.unshift(slice % extent); slice = Math.floor(slice / extent); }
    return `[${index.join(", ")}]`;
  }

  // what is left of a box when another is cut out of it
  function rest([r0, r1, c0, c1], inner) {
    if (!inner) return [[r0, r1, c0, c1]];
    const [a0, a1, b0, b1] = inner;
    return [[r0, a0, c0, c1], [a1, r1, c0, c1], [a0, a1, c0, b0], [a0, a1, b1, c1]].filter((b) => b[1] > b[0] && b[3] > b[2]);
  }

  function fills(p, e) {
    const off = e.tile.runs ? [] : rest(e.tile.box, e.tile.active);
    let out = path("masked", off.map((box) => hatch(place(p, box), 6)).join(""));
    if (alarms) out += alarms.outside(p, e);
    for (const box of touched(e.tile)) {
      const q = place(p, box);
      out += rect(q, "ground") + rect(q, "fill " + KIND[e.kind]);
    }
    return out;
  }

  function outlines(p, e) {
    let out = e.tile.runs || e.tile.active === e.tile.box ? "" : rect(place(p, e.tile.box), "box " + KIND[e.kind]); // else its edge lies on it
    for (const box of touched(e.tile)) {
      const q = place(p, box);
      out += rect(q, "edge " + KIND[e.kind]);
      if (e.kind !== LOAD) out += rect(q, "inner");
    }
    if (atomics && e.kind === ATOMIC) out += atomics.sign(p, e);
    return out;
  }

  const box = (x, y, w, h, name) => rect(bounds(x, y, w, h), name);

  // a heat map: one path for each level, equal neighbours in a row as one block; only the given parts of its height and width
  function heatMap(q, [rows, cols, levels], signed, [down, across] = [1, 1]) {
    const paths = {}, high = down * rows, wide = across * cols;
    for (let r = 0; r < high; r++) for (let c = 0, start = 0; c < wide; c++) {
      const level = levels[r * cols + c];
      if (c + 1 < wide && levels[r * cols + c + 1] === level) continue;
      paths[level] = (paths[level] || "") + block({ x: start, y: r, w: c + 1 - start, h: 1 });
      start = c + 1;
    }
    let out = "";
    for (const level in paths) {
      const n = LEVELS.indexOf(level);
      if (n >= 0) out += path(signed ? (n < 32 ? "minus" : "plus") : "heat", paths[level], `fill-opacity="${(signed ? 0.94 * Math.abs(n - 31.5) / 31.5 : 0.04 + 0.94 * n / 63).toFixed(2)}"`);
      else if (signed || level !== "-") out += path("lost", paths[level]);
    }
    return `<g transform="translate(${round(q.x)} ${round(q.y)}) scale(${q.w / cols} ${q.h / rows})">${out}</g>`;
  }

  // one bar for each number, as one path
  function bars(q, levels, down = 1) {
    const step = q.h / levels.length;
    return path("bar-now", [...levels].map((level, r) => {
      const n = LEVELS.indexOf(level);
      return n < 0 || r >= down * levels.length ? "" : block(bounds(q.x + 1, q.y + r * step, 1 + (q.w - 3) * n / 63, Math.max(step - 0.7, 0.7)));
    }).join(""));
  }

  const writeCells = null;
  const alarms = null;
  const atomics = null;
  const drawSides = null;
  const drawScores = null;
  const drawStates = null;

  // ---- beside the stage -----------------------------------------------------------------------------------------

  const plural = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
  const scaled = (v, unit) => v.toFixed(v < 100 ? 1 : 0) + unit;
  const say = (b) => (b < 1e5 ? b.toLocaleString("en") + " B" : b < 1e6 ? scaled(b / 1e3, " kB") : b < 1e9 ? scaled(b / 1e6, " MB") : scaled(b / 1e9, " GB"));

  function drawCaption(e, past) {
    const kind = find("kind"), tensor = e.panel < 0 ? null : panels[e.panel];
    kind.textContent = e.kind === DOT ? "tl.dot" : KIND[e.kind];
    kind.className = "kind " + KIND[e.kind];
    find("what").textContent = tensor ? tensor.label + (e.tile ? e.tile.label : "") : "multiplies two tiles on chip";
    const facts = [`program ${data.programs[e.program]}`];
    if (e.kind !== DOT) facts.push(say(e.bytes));
    if (atomics && e.kind === ATOMIC) facts.push(...atomics.facts(e, past));
    if (e.masked) facts.push(plural(e.masked, "lane") + " masked" + (e.without ? ", no `other`" : ""));
    find("facts").textContent = facts.join(" · ");
    if (alarms) find("alarm").textContent = alarms.words(e);
  }

  function drawState(e, at) {
    const values = {};
    for (let j = 0; j <= at; j++) {
      if (events[j].program !== e.program) continue;
      for (let d = 0; d < events[j].delta.length; d += 2) {
        values[events[j].delta[d]] = events[j].delta[d + 1];
      }
    }
    const later = {}, following = next[at] === undefined ? [] : events[next[at]].delta;
    for (let d = 0; d < following.length; d += 2) later[following[d]] = following[d + 1];
    const table = find("state");
    table.replaceChildren();
    row(table, "program", "", data.programs[e.program]);
    for (const [name, value] of e.loops) row(table, name, "loop", String(value));
    data.names.forEach((name, n) => {
      if (e.loops.some((loop) => loop[0] === name)) return;
      if (n in values || n in later && data.words[n]) row(table, name, data.words[n], data.vals[values[n]], n in later && data.words[n] && !isMatrix(data.vals[later[n]]) ? data.vals[later[n]] : undefined);
    });
  }

  const isMatrix = (value) => Array.isArray(value) && value.some(Array.isArray);
  const add = (parent, tag, properties) => parent.appendChild(Object.assign(document.createElement(tag), properties));

  function row(table, name, word, value, later) {
    const line = table.insertRow(), head = add(line, "th", { scope: "row", textContent: name }), cell = line.insertCell();
    if (word) add(head, "small", { textContent: word });
    show(cell, value);
    if (later === undefined) return;
    line.className = "changed";
    add(cell, "span", { className: "then", textContent: "→" });
    show(cell, later);
  }

  function show(cell, value) {
    if (!Array.isArray(value)) { cell.append(value ?? ""); return; }
    const matrix = isMatrix(value);
    for (const numbers of matrix ? value : [value]) {
      const list = add(cell, "span", { className: matrix ? "vector line" : "vector" });
      for (const n of [].concat(numbers)) add(list, "b", { textContent: n });
    }
  }

  function drawSource(e) {
    const box = find("source");
    box.querySelector(".current")?.classList.remove("current");
    const line = box.children[e.line - box.dataset.first];
    if (!line) return;
    line.classList.add("current");
    const top = line.offsetTop - box.clientHeight / 2 + line.offsetHeight / 2;
    if (line.offsetTop < box.scrollTop + 20 || line.offsetTop + line.offsetHeight > box.scrollTop + box.clientHeight - 20) box.scrollTop = top;
  }

  const isTraffic = (e, panel, stored) => e.panel === panel && (e.kind === ATOMIC || (e.kind === STORE) === !!stored);
  const sum = (list, panel, stored) => list.reduce((bytes, e) => bytes + (isTraffic(e, panel, stored) ? e.bytes : 0), 0);

  // of one program alone, its own bytes are the measure: the budget is for the whole launch
  function drawTraffic(past) {
    const one = now.program >= 0, own = one ? events.filter((e) => e.program === now.program) : [];
    find("measure").textContent = one ? `bytes so far, of all that program ${data.programs[now.program]} moves` : MEASURE;
    root.querySelectorAll(".traffic .row").forEach((node, i) => {
      const [panel, stored, total, allowed, whole] = data.traffic[i], moved = sum(past, panel, stored);
      const all = one ? sum(own, panel, stored) : Math.max(allowed, total), over = !one && allowed >= 0 && moved > allowed;
      const bar = node.querySelector(".bar");
      bar.style.setProperty("--moved", (100 * moved / Math.max(all, 1)).toFixed(2) + "%");
      bar.style.setProperty("--budget", one || allowed < 0 ? "-9px" : (100 * allowed / Math.max(all, 1)).toFixed(2) + "%");
      node.classList.toggle("over", over);
      node.querySelector(".words").textContent = one ? `${say(moved)} of ${say(all)}` : words(moved, allowed, whole, stored, over);
      if (atomics && data.traffic[i][5]) node.querySelector(".words").textContent += atomics.count(past, panel, data.traffic[i][6]);
    });
  }

  function words(moved, allowed, whole, stored, over) {
    const passes = whole ? `, ${+(moved / whole).toFixed(2)} ${moved === whole ? "pass" : "passes"}` : "";
    if (allowed < 0) return say(moved) + passes;
    return `${say(moved)} of ${say(allowed)}${passes}` + (over ? `: ${say(moved - allowed)} too many` : "");
  }

  function drawPrograms(past, e) {
    const done = {}, all = {};
    for (const x of events) all[x.program] = (all[x.program] || 0) + 1;
    for (const x of past) done[x.program] = (done[x.program] || 0) + 1;
    root.querySelectorAll(".programs button").forEach((node, i) => {
      node.style.setProperty("--done", Math.round(100 * (done[i] || 0) / (all[i] || 1)) + "%");
      node.classList.toggle("current", i === e.program);
      node.setAttribute("aria-pressed", now.program === i);
    });
  }

  function drawTimeline() {
    const n = now.sequence.length, d = ["", "", "", ""];
    now.sequence.forEach((i, k) => {
      const high = [0.5, 1, 1, 0.25][events[i].kind];
      d[events[i].kind] += `M${round4(k + 0.1)} 1h.8v${-high}h-.8z`;
    });
    const bars = find("bars");
    bars.setAttribute("viewBox", `0 0 ${n} 1`);
    bars.innerHTML = d.map((path, kind) => `<path class="${KIND[kind]}" d="${path}"/>`).join("");
    // the slider's knob stands under the bar of its moment
    const slider = find("scrub");
    slider.style.width = `calc((100% - 16px) * ${(n - 1) / n} + 16px)`;
    slider.style.marginLeft = `calc((100% - 16px) / ${2 * n})`;
    bars.onclick = (event) => {
      const area = bars.getBoundingClientRect();
      seek(Math.floor(((event.clientX - area.left) / area.width) * n));
    };
    if (alarms) alarms.mark();
  }

  const round4 = (v) => Math.round(v * 1e4) / 1e4;

  // ---- what the reader does -------------------------------------------------------------------------------------

  function seek(k) { stop(); frame(k); }

  function stop() {
    clearInterval(now.timer);
    now.timer = 0;
    root.classList.remove("playing");
    find("play").setAttribute("aria-label", "Play");
  }

  function play() {
    stop();
    if (now.k >= now.sequence.length - 1) frame(0);
    root.classList.add("playing");
    find("play").setAttribute("aria-label", "Pause");
    const pace = clamp(36000 / now.sequence.length, 80, 900) / now.speed;
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

  controls();
  find("play").onclick = toggle;
  find("back").onclick = () => seek(now.k - 1);
  find("next").onclick = () => seek(now.k + 1);
  find("scrub").oninput = (event) => seek(+event.target.value);
  find("speed").onchange = (event) => { now.speed = +event.target.value; if (now.timer) play(); };
  find("who").onchange = (event) => choose(+event.target.value);
  find("order").onchange = (event) => { now.wave = event.target.value === "wave"; stop(); arrange(); };
  root.querySelectorAll(".programs button").forEach((node, i) => (node.onclick = () => choose(now.program === i ? -1 : i)));

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
  arrange();
}

for (const root of roots) if (root && !root.classList.contains("live")) start(root);
})();
