  // ---- linear attention: the state on chip, before and after the step, and what was read out of it ----------------

  const drawStates = (at, shown) => {
    const v = data.states, e = events[at], state = v.at[at], [rows, cols] = v.whole;
    const [before = -1, after = -1, old = -1, fresh = -1, place = -1, deed = -1, words = -1] = state;
    const group = root.querySelector(".stage .carried .in"), out = root.querySelector(".stage .out");
    const said = words >= 0 ? v.words[words] : "";
    let inside = "";
    if (place >= 0) {
      const p = v.places[place];
      [[v.boxes[0], after], [v.boxes[2], before]].forEach(([q, heat]) => { if (heat >= 0) inside += heatMap(part(q, cols, p[0], p[1], p[2], p[3]), v.heats[heat], fit(cols, p[1], p[2], p[3], p[0])); });
      [[v.boxes[1], fresh], [v.boxes[3], old]].forEach(([q, levels]) => { if (levels >= 0) inside += column(part(q, 1, p[0], 0, p[2], 1), v.sums[levels], fit(1, 0, p[2], 1, p[0])[0]); });
      if (deed > 0) {
        const [down, across] = fit(cols, p[1], p[2], p[3], p[0]), [x, y, w, h] = part(v.boxes[0], cols, p[0], p[1], p[2], p[3]);
        inside += box(x, y, w * across, h * down, "pulse " + ["", "starts", "adds", "reads"][deed]);
      }
    }
    group.innerHTML = inside;
    root.querySelector(".stage .carried .doing").textContent = said;
    if (e.kind === DOT && said) find("what").textContent = said;
    if (!v.square) return;
    const [x0, y0, u] = v.square, seen = new Set(shown), slice = sliceRead(at);
    const mine = v.reads.filter((r) => seen.has(r[0]) && r[1] === slice);
    let d = "", now_ = "";
    for (const [k, , r0, r1, c0, c1] of mine) {
      const q = block(bounds(x0 + c0 * u, y0 + r0 * u, (c1 - c0) * u, (r1 - r0) * u));
      d += q;
      if (k === at) now_ += q;
    }
    out.innerHTML = path("told", d) + path("telling", now_);

    function part([x, y, w, h], all, r0, c0, tall, wide) {
      return [x + w * c0 / all, y + h * r0 / rows, w * wide / all, h * tall / rows];
    }

    function fit(all, c0, tall, wide, r0) {
      return [clamp((rows - r0) / tall, 0, 1), clamp((all - c0) / wide, 0, 1)];
    }

    function heatMap([x, y, w, h], [tall, wide, levels], [down, across]) {
      const paths = {};
      for (let i = 0; i < levels.length; i++) if (i % wide < across * wide && Math.floor(i / wide) < down * tall) paths[levels[i]] = (paths[levels[i]] || "") + `M${i % wide} ${Math.floor(i / wide)}h1v1h-1z`;
      let cells = "";
      for (const level in paths) {
        const n = LEVELS.indexOf(level);
        cells += n < 0 ? path("lost", paths[level]) : path(n < 32 ? "minus" : "plus", paths[level], `fill-opacity="${(0.94 * Math.abs(n - 31.5) / 31.5).toFixed(2)}"`);
      }
      return `<g transform="translate(${round(x)} ${round(y)}) scale(${w / wide} ${h / tall})">${cells}</g>`;
    }

    function column([x, y, w, h], levels, down) {
      const step = h / levels.length;
      return [...levels].map((level, r) => {
        const n = LEVELS.indexOf(level);
        return n < 0 || r >= down * levels.length ? "" : box(x + 1, y + r * step, 1 + (w - 3) * n / 63, Math.max(step - 0.7, 0.7), "bar-now");
      }).join("");
    }
  };

  // the slice that the program of a moment reads for
  function sliceRead(at) {
    const mine = data.states.reads.filter((r) => events[r[0]].program === events[at].program);
    return (mine.find((r) => r[0] >= at) || mine[mine.length - 1] || [0, 0])[1];
  }
