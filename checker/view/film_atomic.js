  // ---- atomic updates: their own sign, and where several programs meet ------------------------------------------

  const atomics = (() => {
    const places = (p, x) => { const list = []; eachElement(p, x.tile, (n) => list.push(n)); return list; };

    // the programs that have updated each element
    function who(p, list) {
      const met = {};
      for (const x of list) if (x.kind === ATOMIC && x.tile) for (const n of places(p, x)) (met[n] = met[n] || new Set()).add(x.program);
      return met;
    }

    function seen(p, mine) {
      const met = who(p, mine);
      let d = "", lines = "";
      for (const x of mine) if (x.kind === ATOMIC) for (const box of touched(x.tile)) d += block(place(p, box));
      const several = Object.keys(met).filter((n) => met[n].size > 1).map((n) => [Math.floor(n / p.cols) % p.rows, n % p.cols]);
      for (const b of runs(several)) lines += hatch(place(p, b), 5);
      return path("seen atomic", d) + path("shared", lines);
    }

    // neighbours in a row as one box, then equal boxes of neighbouring rows
    function runs(list) {
      const out = [];
      for (const [r, c] of list.sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
        const last = out[out.length - 1];
        if (last && last[0] === r && last[3] === c) last[3] = c + 1; else out.push([r, r + 1, c, c + 1]);
      }
      const joined = [];
      for (const b of out.sort((x, y) => x[2] - y[2] || x[3] - y[3] || x[0] - y[0])) {
        const last = joined[joined.length - 1];
        if (last && last[2] === b[2] && last[3] === b[3] && last[1] === b[0]) last[1] = b[1]; else joined.push(b);
      }
      return joined;
    }

    function sign(p, e) {
      return touched(e.tile).slice(0, 1).map((b) => {
        const q = place(p, b), reach = Math.max(Math.min(7, q.w / 2 - 1, q.h / 2 - 1), 3);
        const d = `M${round(q.x + q.w / 2 - reach)} ${round(q.y + q.h / 2)}h${round(2 * reach)}M${round(q.x + q.w / 2)} ${round(q.y + q.h / 2 - reach)}v${round(2 * reach)}`;
        return path("plus-sign", d) + path("plus-sign top", d);
      }).join("");
    }

    function facts(e, past) {
      const words = ["read and written back in one step"];
      if (!e.tile) return words;
      const p = panels[e.panel], met = who(p, past.filter((x) => x.panel === e.panel));
      const most = Math.max(0, ...places(p, e).map((n) => met[n].size));
      if (most > 1) words.push(`updated by ${most} programs so far`);
      return words;
    }

    function count(past, panel, one) {
      const bytes = past.reduce((n, x) => n + (x.kind === ATOMIC && x.panel === panel ? x.bytes : 0), 0);
      return `, ${plural(bytes / one, "atomic update")}`;
    }

    return { seen, sign, facts, count };
  })();
