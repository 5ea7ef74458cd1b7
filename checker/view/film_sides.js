  // ---- running state beside a tensor's rows ----------------------------------------------------------------------

  const sideLast = {};
  data.sides[4] = data.sides[4].map((side, i) => (sideLast[events[i].program] = side === 0 ? sideLast[events[i].program] : side));


  const drawSides = (past, at) => {
    const [panel, names, texts, vectors, sides, departed] = data.sides, p = panels[panel];
    const before = names.map(() => ({})), after = names.map(() => ({}));
    const put = (columns, side) => { if (side) columns.forEach((column, i) => side[i + 1] < 0 || [...vectors[side[i + 1]]].forEach((v, r) => (column[side[0] + r] = v))); };
    for (const i of now.sequence.slice(0, now.k + 1)) put(before, sides[i]);
    if (next[at] !== undefined) put(after, sides[next[at]]);
    const shown = new Set(now.sequence.slice(0, now.k + 1));
    const wrong = new Set(departed.filter((d) => shown.has(d[0])).map((d) => d[1] + ":" + d[2]));
    const base = sliceOf(panel, past, events[at]) * p.rows;
    let out = "";
    names.forEach((_, i) => {
      const bars = { now: "", past: "", marks: "" };
      for (let r = 0; r < p.rows; r++) {
        const old = before[i][base + r], fresh = after[i][base + r];
        if (old !== undefined || fresh !== undefined)
          out += (texts ? sideText : sideBar)(p.columns[i], p.y + r * p.uy, p.width, p.uy, old, fresh, wrong.has(base + r + ":" + i), bars);
      }
      out += path("bar-now", bars.now) + path("bar-past", bars.past) + path("departs", bars.marks, 'stroke-width="4"');
    });
    p.node.querySelector(".sides").innerHTML = out;
  };


  function sideText(x, y, w, h, old, fresh, wrong) {
    const changes = fresh !== undefined && old !== fresh;
    let text = changes ? (old !== undefined ? `${old} → ${fresh}` : `→ ${fresh}`) : old ?? fresh, out = changes ? box(x, y, w, h, "changes") : "";
    if (wrong) {
      text = "≠ " + text;
      out += box(x + 1, y + 1, w - 2, h - 2, "departs");
    }
    return out + `<text class="side${wrong ? " warn" : ""}" x="${round(x + w / 2)}" y="${round(y + h / 2 + 4)}" font-size="11" text-anchor="middle">${text}</text>`;
  }

  // adds to the bars of a column; what is drawn at once is nothing
  function sideBar(x, y, w, h, old, fresh, wrong, bars) {
    const level = LEVELS.indexOf(fresh ?? old);
    const bar = level < 0 ? "" : block(bounds(x + 1, y, 2 + (w - 4) * level / 63, Math.max(h - (h > 2.5 ? 0.6 : 0), 0.8)));
    if (fresh !== undefined) bars.now += bar; else bars.past += bar;
    if (wrong) bars.marks += `M${round(x + w + 2)} ${round(y)}v${round(Math.max(h, 2))}`;
    return "";
  }
