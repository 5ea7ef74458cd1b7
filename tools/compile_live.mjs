// Compiles what a live page loads, in the Python that will load it: `node tools/compile_live.mjs FOLDER PUZZLE…`, FOLDER being _static/live.
// Pyodide brings sources only, and compiling them is half of what a reader waits for. The bytecode of its own library goes into its
// archive, everything else into compiled.zip. To find out what a page loads, this checks kernels as a reader would, right and wrong ones.
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

const [folder, ...puzzles] = [resolve(process.argv[2]), ...process.argv.slice(3)];
const read = (name) => new Uint8Array(readFileSync(`${folder}/${name}`));
const { loadPyodide } = await import(`${folder}/pyodide.mjs`);
const python = await loadPyodide({ indexURL: `${folder}/` });
await python.loadPackage(JSON.parse(readFileSync(`${folder}/files.json`)).packages.map((name) => `${folder}/${name}`));
python.unpackArchive(read("course.zip"), "zip", { extractDir: "/course" });
python.runPython(readFileSync(`${folder}/../live_start.py`, "utf-8"));
python.FS.writeFile("library.zip", read("python_stdlib.zip"));
python.globals.set("puzzles", python.toPy(puzzles));
python.runPython(`
import importlib.util, marshal, sys, zipfile
from pathlib import Path
from checker.misconceptions import bank

for name in puzzles:
    cell = Cell(name, Path("/course/solutions", f"{name}.py").read_text("utf-8"))
    assert cell.verdict.status == "passed", cell.verdict
    cell.card(), cell.film()
cell = Cell(name, bank(name)[0].source.text)
assert cell.verdict.status == "failed", cell.verdict
cell.card(), cell.film()

with zipfile.ZipFile("library.zip", "a", zipfile.ZIP_DEFLATED) as library, zipfile.ZipFile("compiled.zip", "w", zipfile.ZIP_DEFLATED) as others:
    for name, module in list(sys.modules.items()):
        spec = module.__spec__
        if spec is None or not (spec.origin or "").endswith(".py"):
            continue
        # the header of PEP 552: bytecode that is used whatever the time or the hash of its source
        bytecode = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(spec.loader.get_code(name))
        within = spec.origin.partition(".zip/")[2]
        library.writestr(within + "c", bytecode) if within else others.writestr(spec.cached.lstrip("/"), bytecode)
`);
writeFileSync(`${folder}/python_stdlib.zip`, python.FS.readFile("library.zip"));
writeFileSync(`${folder}/compiled.zip`, python.FS.readFile("compiled.zip"));
