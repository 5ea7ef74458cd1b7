  // ---- values in the cells of tensors that change, or that show one slice at a time ----------------------------

  // how often the whole launch stores each element: its last value is known only after the last of them
  function countStores(panel, i) {
    const total = {};
    if (panel.written && panel.cells)
      for (const e of events) if (e.panel === i && e.tile && e.kind !== LOAD) eachElement(panel, e.tile, (x) => (total[x] = (total[x] || 0) + 1));
    return total;
  }

  const stores = panels.map(countStores);

  const writeCells = (p, i, slice, past) => {
    const seen = {};
    if (p.written) for (const x of past) if (x.panel === i && x.tile && x.kind !== LOAD) eachElement(p, x.tile, (n) => (seen[n] = (seen[n] || 0) + 1));
    const base = slice * p.rows * p.cols;
    let made = "";
    for (let n = 0; n < p.rows * p.cols; n++) {
      const x = base + n, text = !p.written || (seen[x] === stores[i][x] && seen[x]) ? p.cells[x] : seen[x] ? "…" : "";
      made += `<text x="${round(p.x + ((n % p.cols) + 0.5) * p.ux)}" y="${round(p.y + (Math.floor(n / p.cols) + 0.5) * p.uy + 4)}">${text}</text>`;
    }
    p.node.querySelector(".values").innerHTML = made;
  };
