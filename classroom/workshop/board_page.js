// The live board. The token comes after the # of the link, is removed from the address at once, and travels in a header.
// Every text is set as text, so nothing that a learner typed is ever parsed as HTML.

const POLL = 3000, SILENCE = 20000;
const SHAPES = ["passed", "trying", "stuck", "untouched"];
const WORDS = { passed: "passed", trying: "at work", stuck: "stuck", untouched: "not begun" };
const KINDS = {  // for the teacher, in the words of the run sheet; for everybody else
  teaching: ["you teach", "lecture"], exercise: ["they write", "exercise"], demonstration: ["you show", "demonstration"],
};
const $ = (id) => document.getElementById(id);
const drawn = new Map();
const chosen = new Set();  // ids of learners to remove
let ended = false, token = "", state = null, lastStreamed = Date.now();

function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Four shapes that differ without colour: a disc with a tick, a half-filled ring, a triangle with an exclamation mark, an empty ring.
function shape(kind) {
  const parts = {
    passed: [["circle", { class: "fill", cx: 8, cy: 8, r: 7.6 }], ["path", { class: "sign", d: "M4.4 8.4l2.6 2.6 4.8-5.4" }]],
    trying: [["circle", { class: "edge", cx: 8, cy: 8, r: 6.6 }], ["path", { class: "fill", d: "M8 1.4a6.6 6.6 0 0 1 0 13.2z" }]],
    stuck: [["path", { class: "fill", d: "M8 .6l7.8 14.4H.2z" }], ["path", { class: "sign", d: "M8 6v4M8 12.4v.1" }]],
    untouched: [["circle", { class: "edge", cx: 8, cy: 8, r: 4 }]],
  }[kind];
  const title = svg("title", {});
  title.textContent = WORDS[kind];
  return svg("svg", { class: `shape ${kind}`, viewBox: "0 0 16 16", role: "img" }, title, ...parts.map(([n, a]) => svg(n, a)));
}

const legend = () => el("p", { className: "legend" }, SHAPES.map((kind) => el("span", {}, shape(kind), WORDS[kind])));
const called = (name) => name.replaceAll("_", " ");
const many = (n, one, more = `${one}s`) => `${n} ${n === 1 ? one : more}`;
const minutes = (seconds) => (seconds < 60 ? "just now" : `${Math.floor(seconds / 60)} min`);

// Redraws a part of the page only if its data has changed, so that nobody loses what they are typing or clicking.
function draw(id, data, make) {
  const key = JSON.stringify(data);
  if (drawn.get(id) === key) return;
  drawn.set(id, key);
  const focused = document.activeElement?.id;
  $(id).replaceChildren(...[make(data)].flat());
  if (focused) $(focused)?.focus();
}

// ----------------------------------------------------------------------------------------------------------------- the wire

async function call(path, body) {
  const headers = { "X-Class-Token": token };
  const options = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const answer = await fetch(path, options);
  const said = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(said.error), { status: answer.status });
  return said;
}

async function act(path, body) {
  try {
    const said = await call(path, body);
    say("");
    refresh().catch(() => {});  // `poll` reports it
    return said;
  } catch (error) {
    say(error.message);
    return null;
  }
}

const say = (text) => { $("status").textContent = text; };

async function refresh() {
  show(await call("state"));
}

// Reads the stream with fetch, because an EventSource cannot send a header. Proxies that pass streams on look for `Accept`.
async function follow() {
  for (let wait = 3000; !ended; wait = Math.min(2 * wait, 30000)) {
    const reading = new AbortController();
    const watch = setInterval(() => { if (Date.now() - lastStreamed > 2 * SILENCE) reading.abort(); }, 5000);
    try {
      const headers = { "X-Class-Token": token, Accept: "text/event-stream" };
      const answer = await fetch("stream", { headers, signal: reading.signal });
      if (answer.status === 401 || answer.status === 410) return over(answer.status);
      if (answer.ok) wait = 1500;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; answer.ok; ) {
        const { done, value } = await reader.read();
        if (done) break;
        lastStreamed = Date.now();
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        const newest = parts.filter((part) => part.startsWith("data: ")).pop();
        if (newest) show(JSON.parse(newest.slice(6)));
      }
    } catch { /* the network failed, or a proxy closed the stream: try again */ }
    clearInterval(watch);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

async function poll() {
  if (ended || Date.now() - lastStreamed < SILENCE) return;
  try {
    await refresh();
  } catch (error) {
    if (error.status === 401 || error.status === 410) over(error.status);
    else say("The board cannot be reached. Trying again.");
  }
}

function over(status) {
  ended = true;
  say(status === 410 ? "This class is over." : "This link is no longer valid.");
}

// ----------------------------------------------------------------------------------------------------------------- what all see

function show(next) {
  if ($("status").textContent.startsWith("The board cannot be reached")) say("");
  state = next;
  const staff = state.role !== "screen";
  document.body.className = staff ? "staff" : "screen";
  document.title = `${state.title}: ${staff ? state.role : "the board"}`;
  draw("top", [state.title, state.join, state.size, state.done, state.hands, state.door, state.over, state.qr], top);
  $("sheet").hidden = !state.agenda.length;
  draw("sheet", [state.agenda, state.standing, state.advice, state.role], sheet);
  $("question").hidden = !state.question;
  draw("question", [state.question, state.answers, state.answered, state.role], question);
  if (staff) showStaff();
  else showScreen();
  if (state.over) over(410);
}

function top() {
  const staff = state.role !== "screen";
  const join = state.join ? `join("${state.join}")` : state.over ? "The class is over." : "The door is closed.";
  const tally = (n, word) => (n === null ? null : el("div", {}, el("b", {}, String(n)), word));
  return [
    el("div", { className: "spread" },
      el("p", { className: "title soft" }, state.title, " · ", staff ? state.role : state.join ? el("code", {}, "from checker import join, guess, done, hand") : "the board"),
      el("p", { className: "join code" }, join)),
    el("div", { className: "tally" },
      tally(state.size, "joined"), tally(state.done, "done"), tally(state.hands, state.hands === 1 ? "hand" : "hands")),
    staff ? el("div", { className: "buttons" },
      el("button", { type: "button", title: "light or dark", ariaLabel: "light or dark", onclick: otherTheme }, "◐"),
      state.role === "teacher" && el("button", { type: "button", onclick: () => act("teacher/door", { on: !state.door }) },
        state.door ? "Close the door" : "Open the door"),
      state.role === "teacher" && el("button", { type: "button", className: "warn", onclick: close }, "End class…")) : null,
    state.qr && state.join && el("img", { className: "qr", src: state.qr, alt: "QR code of the page that says how to join" }),
  ].filter(Boolean);
}

function close() {
  if (!confirm("End the class for everyone?")) return;
  const forget = confirm("Delete everything the board stored?\n\nOK deletes it. Cancel keeps it for `python -m classroom export`.");
  act("teacher/close", { on: forget }).then((said) => said && over(410));
}

function otherTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

function sheet() {
  const { agenda, standing, advice, role } = state;
  const teacher = role === "teacher";
  const kind = (item) => KINDS[item.kind]?.[teacher ? 0 : 1];
  const goTo = (step) => ({ type: "button", onclick: () => act("teacher/step", { step }) });
  const end = agenda.at(-1).start_minute + agenda.at(-1).minutes;
  const bar = el("div", { className: "bar" }, agenda.map((item, n) => {
    const when = !standing || n > standing.step ? "" : n === standing.step ? "now" : "past";
    const label = [item.title, kind(item), `${item.minutes} min`].filter(Boolean).join(", ");
    const made = el(teacher ? "button" : "div", { className: `item ${item.kind} ${when}`, title: label, ariaLabel: label, ...(teacher && goTo(n)) });
    made.style.setProperty("--minutes", item.minutes);
    return made;
  }));
  if (!standing) return [bar, el("p", { className: "now-next" }, `${agenda.length} steps, ${end} minutes`, teacher && el("button", { className: "primary", ...goTo(0) }, "Begin"))];
  const clock = el("div", { className: "clock", title: `minute ${Math.floor(standing.elapsed)}` });
  clock.style.left = `${Math.min(100, (100 * standing.elapsed) / end)}%`;
  bar.append(clock);
  const named = (item) => [el("b", {}, item.title), kind(item) ? ` (${kind(item)})` : ""];
  const [now, next] = [agenda[standing.step], agenda[standing.step + 1]];
  const late = standing.left <= -1;
  return [bar, el("p", { className: "now-next" },
    el("span", { className: "current" }, "Now: ", named(now)),
    el("b", { className: late ? "over" : "" }, late ? `${Math.floor(-standing.left)} min over` : `${Math.ceil(Math.max(standing.left - .1, 0))} min left`),
    next && el("span", { className: "soft" }, "Next: ", named(next)),
    next && teacher && el("button", goTo(standing.step + 1), "Go on"),
    advice && el("span", { className: "advice" }, advice))];
}

// The question that opens a notebook, and a bar for each answer. The projector leaves out what only one person said.
function question() {
  const most = Math.max(...state.answers.map(([, n]) => n), 1);
  const bars = state.answers.map(([text, n]) => {
    const bar = el("span", { className: "answers" }, el("b", {}, String(n)));
    bar.style.setProperty("--share", n / most);
    return [el("span", { className: "given" }, text), bar];
  });
  const rest = (state.answered ?? 0) - state.answers.reduce((sum, [, n]) => sum + n, 0);
  return [el("p", { className: "asked" }, ...prose(state.question)), el("div", { className: "poll" }, bars),
    el("p", { className: "soft" }, state.answered ? rest ? many(rest, "other answer") : "" : ["Answer in a notebook: ", el("code", {}, 'guess("…")')])];
}

function film(belief) {
  return belief.film && el("button", { type: "button", onclick: () => {
    $("film").querySelector("iframe").src = `film/${belief.puzzle}/${belief.name}`;
    $("film").showModal();
  } }, "▶ Watch it fail");
}

// ----------------------------------------------------------------------------------------------------------------- the projector

function showScreen() {
  if (!$("room")) $("main").replaceChildren(el("section", { className: "panel", id: "room" }), el("section", { className: "panel", id: "beliefs" }));
  const now = state.standing ? state.agenda[state.standing.step].puzzles : [];
  draw("room", [state.size, state.puzzles, now], () => {
    if (state.size === null) return [el("h2", {}, "The room"), el("p", { className: "few" }, "The room appears here once five learners have joined, without their names.")];
    const inRow = Math.ceil(state.size / (state.puzzles.length > 5 ? 2 : 3));
    const size = Math.max(.6, Math.min(1.7, 14.5 / Math.max(inRow, 1)));
    const strips = el("div", { className: "strips" }, state.puzzles.map((puzzle) => [
      el("span", { className: now.includes(puzzle.name) ? "name now" : "name" }, puzzle.title),
      el("div", { className: "strip" }, SHAPES.flatMap((kind) => Array.from({ length: puzzle.counts[kind] ?? 0 }, () => shape(kind)))),
      el("span", { className: "of" }, el("b", {}, String(puzzle.counts.passed ?? 0)), ` of ${state.size}`),
    ]));
    strips.style.setProperty("--s", `${size}em`);
    return [el("h2", {}, "The room"), strips, legend()];
  });
  draw("beliefs", state.beliefs, () => [
    el("h2", {}, "What the room believes now"),
    state.beliefs.length ? null : el("p", { className: "few" }, "Mistakes that two or more learners share appear here, with a film."),
    ...state.beliefs.map((belief) => el("article", { className: "belief" },
      el("span", { className: "holders", title: many(belief.count, "learner") }, String(belief.count)),
      el("p", { className: "said" }, ...prose(belief.believed)),
      el("div", { className: "below" }, el("span", {}, called(belief.puzzle)), film(belief),
        el("details", {}, el("summary", {}, "What to think instead"), ...prose(belief.instead))))),
  ].filter(Boolean));
}

// The bank's sentences begin with a small letter and have code between backquotes.
const prose = (text) => (text[0] ?? "").toUpperCase().concat(text.slice(1)).split("`").map((piece, n) => (n % 2 ? el("code", {}, piece) : piece));

// ----------------------------------------------------------------------------------------------------------------- who teaches

const panels = { queue: "Hands", beliefs: "What the room believes now", stuck: "Stuck" };
const me = () => $("me")?.value.trim() || (state.role === "teacher" ? "the instructor" : "a helper");

function showStaff() {
  if (!$("room")) {
    const side = Object.keys(panels).map((id) => el("section", { className: "panel", id }));
    const left = [el("section", { className: "panel", id: "room" })];
    if (state.role === "teacher") left.push(el("section", { className: "panel", id: "push" }, ...pushForm()));
    $("main").replaceChildren(el("div", { className: "column" }, left), el("div", { className: "column" }, side));
  }
  const teacher = state.role === "teacher";
  draw("room", [state.puzzles, state.learners, state.standing?.step, [...chosen]], () => [el("h2", {}, "The room"), roomTable(teacher), legend()]);
  const names = Object.fromEntries(state.learners.map((one) => [one.id, one.name]));
  draw("queue", [state.queue.map((one) => ({ ...one, seconds: minutes(one.seconds) })), state.claims, names], ([queue]) => [
    el("h2", {}, panels.queue, el("span", { className: "count" }, String(queue.length)),
      el("label", { className: "me" }, "I am ", el("input", { id: "me", maxLength: 40, value: $("me")?.value ?? "", placeholder: me() }))),
    el("div", { className: "rows" }, queue.map((one) => row(names[one.who], [one.seconds, called(one.puzzle) || "no puzzle yet", one.passed && "passed since"].filter(Boolean).join(" · "), claims(one.who, true))))]);
  draw("stuck", [state.stuck.map(({ seconds, ...rest }) => rest), state.claims, names], ([stuck]) => [
    el("h2", {}, panels.stuck, el("span", { className: "count" }, String(stuck.length))),
    el("div", { className: "rows" }, stuck.map((one) => row(names[one.who], [`${called(one.puzzle)}: ${one.why}`, called(one.belief), `hint ${one.hint} is next`].filter(Boolean).join(" · "), claims(one.who, false))))]);
  draw("beliefs", state.beliefs, (beliefs) => [
    el("h2", {}, panels.beliefs),
    el("div", { className: "rows" }, beliefs.map((one) => el("div", { className: "row" },
      el("span", {}, el("b", {}, `${one.count} `), ...prose(one.believed)),
      el("span", { className: "sub", title: one.holders.join(", ") }, `${called(one.puzzle)} · ${one.holders.slice(0, 4).join(", ")}${one.holders.length > 4 ? " …" : ""}`),
      el("span", { className: "do" }, film(one), teacher && el("button", { type: "button", onclick: () => aim(one) }, "Write to them")))))]);
  if (teacher) draw("push-to", [state.beliefs, state.puzzles.map((p) => p.name)], pushTargets);
}

function row(name, sub, buttons) {
  return el("div", { className: "row" }, el("b", {}, name), el("span", { className: "sub" }, sub), el("span", { className: "do" }, buttons));
}

function claims(who, up) {
  const button = (words, path, more, className = "") => el("button", { type: "button", className, onclick: () => act(path, { who, ...more }) }, words);
  const helped = up && button("Helped", "teacher/helped");
  const helper = state.claims[who];
  if (helper) return [el("span", { className: "soft" }, `${helper} goes`), button("Not after all", "teacher/claim", { on: false }), helped];
  return [button("I go", "teacher/claim", { by: me() }, "primary"), helped];
}

function roomTable(teacher) {
  const working = !state.standing || state.agenda[state.standing.step].kind === "exercise";  // learners who listen are silent
  const idle = state.learners.filter((one) => !one.hand && !one.done && one.work.every(([kind]) => kind === "untouched"));
  const some = state.learners.filter((one) => chosen.has(one.id));
  const head = el("tr", {}, el("th", {}, many(state.learners.length, "learner")), state.puzzles.map((p) => el("th", {}, p.title)),
    el("th", { className: "end" }, teacher && idle.length > 1 && !some.length && el("button", { type: "button", onclick: () => choose(idle, true) }, `Choose ${idle.length} who did nothing`),
      some.length ? el("button", { type: "button", className: "warn", onclick: () => remove(some) }, `Remove ${some.length}`) : null));
  const body = state.learners.map((one) => el("tr", { className: one.muted ? "muted" : "" },
    el("td", { className: "who", title: one.name }, one.name,
      one.hand && el("span", { className: "note hand" }, "hand"), one.done && el("span", { className: "note done" }, "done"),
      one.silent && !one.done && working ? el("span", { className: "note silent" }, `silent ${one.silent} min`) : null),
    one.work.map(([kind, tries]) => el("td", {}, el("span", { className: "cell" }, shape(kind), tries ? el("span", { className: "tries", title: many(tries, "attempt") }, String(tries)) : null))),
    el("td", { className: "end" }, teacher && el("input", { type: "checkbox", checked: chosen.has(one.id), ariaLabel: `choose ${one.name}`, onchange: (event) => choose([one], event.target.checked) }),
      teacher && el("button", { type: "button", onclick: () => act("teacher/mute", { who: one.id, on: !one.muted }) }, one.muted ? "Unmute" : "Mute"),
      teacher && el("button", { type: "button", className: "warn", onclick: () => remove([one]) }, "Remove"))));
  return el("div", { className: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, body)));
}

function choose(learners, on) {
  for (const one of learners) on ? chosen.add(one.id) : chosen.delete(one.id);
  showStaff();
}

function remove(learners) {
  const whom = learners.length === 1 ? learners[0].name : many(learners.length, "learner");
  if (!confirm(`Remove ${whom} and everything stored about them?`)) return;
  chosen.clear();
  act("teacher/remove", { who: learners.map((one) => one.id) });
}

function pushForm() {
  const text = el("textarea", { id: "push-text", maxLength: 500, placeholder: "One sentence. It appears folded below their next check.", ariaLabel: "What to send" });
  const form = el("form", { className: "push", onsubmit: (event) => { event.preventDefault(); send(); } },
    text, el("label", {}, "to ", el("select", { id: "push-to" })), el("label", {}, "or instead ", el("select", { id: "push-hint" })),
    el("button", { className: "primary" }, "Send"));
  return [el("h2", {}, "Write to the room"), form];
}

function pushTargets() {
  const [to, hint] = [$("push-to").value, $("push-hint").value];
  const option = (value, words, chosen) => el("option", { value, selected: value === chosen }, words);
  const levels = ["question", "idea", "skeleton"];
  $("push-hint").replaceChildren(option("", "no hint", hint), ...state.puzzles.flatMap((p) => levels.map((level, n) => option(`${p.name} ${n + 1}`, `hint ${n + 1} of ${p.title} (${level})`, hint))));
  return [option("", "all", to), ...state.beliefs.map((one) => option(`${one.puzzle} ${one.name}`, `the ${one.count} with “${called(one.name)}”`, to))];
}

function aim(belief) {
  $("push-to").value = `${belief.puzzle} ${belief.name}`;
  $("push-text").focus();
}

async function send() {
  const [puzzle, belief] = $("push-to").value.split(" ");
  const [about, level] = $("push-hint").value.split(" ");
  if (belief && about && about !== puzzle) return say("The hint and the belief are about different puzzles.");
  const body = { text: $("push-text").value, puzzle: puzzle || about || "", belief: belief ?? "", level: Number(level ?? 0) };
  const said = await act("teacher/push", body);
  if (!said) return;
  $("push-text").value = $("push-hint").value = $("push-to").value = "";
  say(`Sent to ${many(said.sent, "learner")}.`);
  setTimeout(() => say(""), 4000);
}

// ----------------------------------------------------------------------------------------------------------------- who joins

function learnerPage(code) {
  document.body.className = "learner";
  const { protocol, hostname, host, pathname, origin } = location;
  const plain = protocol === "http:" && pathname === "/";
  const place = plain ? (host.endsWith(":8787") ? hostname : host) : origin + pathname.replace(/\/$/, "");
  const line = `from checker import join, guess, done, hand\njoin("${code}@${place}")`;
  const copied = el("button", { type: "button", onclick: () => navigator.clipboard?.writeText(line).then(() => say("Copied.")) }, "Copy");
  $("main").replaceChildren(el("section", { className: "panel" }, ...(code
    ? [el("p", {}, "To join the class, run this in any notebook of the course:"), el("pre", { className: "code" }, line), el("p", {}, copied)]
    : [el("p", {}, "This is the board of a class. To get a link to it, run "), el("p", { className: "code" }, "python -m classroom open")])));
}

// ----------------------------------------------------------------------------------------------------------------- begin

async function begin() {
  const [, role, secret] = location.hash.match(/^#(screen|helper|teacher|join)=([\w-]{1,60})$/) ?? [];
  const kept = sessionStorage.getItem("token") ?? "";
  $("film-close").addEventListener("click", () => $("film").close());
  const frame = $("film").querySelector("iframe");
  $("film").addEventListener("close", () => frame.removeAttribute("src"));
  frame.addEventListener("load", () => { if ($("film").open) frame.contentWindow.focus(); });  // otherwise Space would press Close
  addEventListener("message", (event) => { if (event.source === frame.contentWindow && event.data === "close") $("film").close(); });
  addEventListener("hashchange", () => location.reload());
  if (role === "join" || (!secret && !kept)) return learnerPage(secret ?? "");
  token = secret ?? kept;
  sessionStorage.setItem("token", token);  // for this tab, so that reloading works
  history.replaceState(null, "", location.pathname);
  try {
    await refresh();
  } catch (error) {
    if (error.status === 401) sessionStorage.removeItem("token");
    if (error.status) return over(error.status);
  }
  setInterval(poll, POLL);
  follow();
}

begin();
