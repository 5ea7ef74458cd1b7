// Python in the browser: judges what a live cell sends. The page ends it when a kernel runs for too long, and starts another.
// It answers {ready} once, then {card}, again {card} with the reason if the kernel is wrong, and {film} for each {puzzle, text}; {broken} says what Python said when it could not.
const here = new URL(".", self.location).href;
async function get(path) {
  const answer = await fetch(here + path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer;
}

async function start() {
  const course = get("live/course.zip"), compiled = get("live/compiled.zip"), begin = get("live_start.py");
  const { packages } = await (await get("live/files.json")).json();
  const { loadPyodide } = await import(`${here}live/pyodide.mjs`);
  const python = await loadPyodide({ indexURL: `${here}live/`, packages: packages.map((name) => `${here}live/${name}`) });
  python.unpackArchive(await (await course).arrayBuffer(), "zip", { extractDir: "/course" });
  python.unpackArchive(await (await compiled).arrayBuffer(), "zip", { extractDir: "/" });
  python.runPython(await (await begin).text());
  return python;
}

// the first check takes three times as long as later ones: do one while the reader reads
const warmUp = (python) => { if (!asked) python.runPython('Cell("row_softmax", open("/course/solutions/row_softmax.py").read()).card()'); };

let asked = false;
const python = start();
python.then((python) => { postMessage({ ready: true }); setTimeout(warmUp, 300, python); }, (error) => postMessage({ broken: String(error) }));

onmessage = async ({ data: { puzzle, text } }) => {
  asked = true;
  try {
    const Cell = (await python).globals.get("Cell"), cell = Cell(puzzle, text);
    const first = cell.card();
    postMessage({ card: first });
    cell.diagnose();
    if (cell.card() !== first) postMessage({ card: cell.card() });
    postMessage({ film: cell.film() });
    cell.destroy();
  } catch (error) {
    postMessage({ broken: String(error) });
  }
};
