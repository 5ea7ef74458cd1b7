  // ---- attention: the square of scores and the tile of the moment, enlarged ---------------------------------------

  const drawScores = (at, shown) => {
    const v = data.scores, e = events[at], [visit = -1, heat = -1, alpha = -1, before = -1, after = -1] = v.at[at];
    const [x0, y0, u] = v.square;
    const inSquare = (t) => bounds(x0 + t[3] * u, y0 + t[1] * u, (t[4] - t[3]) * u, (t[2] - t[1]) * u);
    const slice = visit >= 0 ? v.tiles[visit][0] : sliceOfProgram(at);
    const find2 = (name) => root.querySelector(".stage ." + name);

    const seen = new Set(shown.map((i) => v.at[i][0] ?? -1).filter((t) => t >= 0 && t !== visit && v.tiles[t][0] === slice));
    let been = "", hidden = "", gone = "";
    for (const t of seen) {
      been += block(inSquare(v.tiles[t]));
      hidden += masked(wholeTile(v.tiles[t]), lastHeat(t, shown), parts(v.tiles[t]));
    }
    for (const s of v.skipped) if (s[0] === slice && finished(s[5], at)) {
      for (let c = s[3]; c < s[4]; c += v.wide) gone += cross(inSquare([0, s[1], s[2], c, Math.min(c + v.wide, s[4])]));
    }
    find2("been").innerHTML = path("visited", been) + path("masked thin", hidden) + path("skipped", gone);

    let here = "";
    if (visit >= 0) {
      const t = v.tiles[visit], q = inSquare(t);
      const down = (x) => `M${x} ${round(y0 - 12)}V${round(y0 + v.square[3] * u + 12)}`, along = (y) => `M${round(x0 - 12)} ${y}H${round(x0 + v.square[4] * u + 12)}`;
      here = path("guides", down(q.x) + down(round(q.x + q.w)) + along(q.y) + along(round(q.y + q.h)));
      here += rect(q, "ground");
      if (heat >= 0) here += heatMap(wholeTile(t), v.heats[heat], false, parts(t)) + path("masked thin", masked(wholeTile(t), heat, parts(t)));
      here += rect(q, "edge dot");
    }
    find2("here").innerHTML = here;

    const [tile, factor, old, fresh] = v.lens.map(([x, y, w, h]) => ({ x, y, w, h }));
    let lens = "";
    if (heat >= 0) lens += heatMap(tile, v.heats[heat], false) + path("masked", masked(tile, heat)) + rect(tile, "frame");
    if (alpha >= 0) lens += bars(factor, v.alphas[alpha]) + rect(factor, "frame");
    if (before >= 0) lens += heatMap(old, v.accs[before], true) + rect(old, "frame");
    if (after >= 0) lens += heatMap(fresh, v.accs[after], true) + rect(fresh, "edge dot");
    if (visit >= 0) {
      const [down, across] = parts(v.tiles[visit]);
      for (const [q, used, wide] of [[tile, heat, across], [factor, alpha, 1], [old, before, 1], [fresh, after, 1]])
        if (used >= 0) lens += beyond(q, down, wide);
    }
    find2("lens .in").innerHTML = lens;
    const span = (from) => (visit < 0 ? "" : v.tiles[visit].slice(from, from + 2).join(":"));
    const makes = heat >= 0 && after < 0;
    find2("lens .doing").textContent = visit < 0 ? `no ${data.states ? "weights are" : "tile of scores is"} on chip now` : `queries ${span(1)}, keys ${span(3)}`;
    if (e.kind === DOT && visit >= 0 && !data.states) find("what").textContent = makes ? `${v.names[0]} = q[${span(1)}] · k[${span(3)}]ᵀ, on chip` : `${v.names[3]} of o[${span(1)}]: rescaled, + p · v[${span(3)}]`;

    function cross(q) {
      return `M${q.x} ${q.y}l${q.w} ${q.h}M${round(q.x + q.w)} ${q.y}l${-q.w} ${q.h}`;
    }

    function lastHeat(t, list) {
      for (let j = list.length - 1; j >= 0; j--) if (v.at[list[j]][0] === t && v.at[list[j]][1] >= 0) return v.at[list[j]][1];
      return -1;
    }

    // what hangs over the edge has no meaning: it is veiled
    function beyond(q, down, across) {
      const right = { x: round(q.x + q.w * across), y: q.y, w: round(q.w * (1 - across)), h: q.h };
      const below = { x: q.x, y: round(q.y + q.h * down), w: round(q.w * across), h: round(q.h * (1 - down)) };
      return [right, below].filter((r) => r.w > 0.5 && r.h > 0.5).map((r) => rect(r, "ground veil") + path("masked", hatch(r, 6))).join("");
    }

    // diagonal strokes through the cells that hold -inf
    function masked(q, index, [down, across] = [1, 1]) {
      if (index < 0) return "";
      const [rows, cols, levels] = v.heats[index], w = q.w / cols, h = q.h / rows, step = Math.max(1, Math.round(3 / Math.min(w, h)));
      let d = "";
      for (let r = 0; r < rows * down; r++) for (let c = 0; c < cols * across; c++)
        if (levels[r * cols + c] === "-" && (r + c) % step === 0) d += `M${round(q.x + c * w)} ${round(q.y + (r + 1) * h)}l${round(w)} ${round(-h)}`;
      return d;
    }

    // a tile with the part that hangs over the edges, and how much of it lies inside
    function wholeTile(t) {
      return inSquare([0, t[1], t[1] + t[5], t[3], t[3] + t[6]]);
    }

    function parts(t) {
      return [(t[2] - t[1]) / t[5], (t[4] - t[3]) / t[6]];
    }
  };

  function sliceOfProgram(at) {
    const v = data.scores;
    for (let i = at; i < events.length; i++) if (events[i].program === events[at].program && v.at[i][0] >= 0) return v.tiles[v.at[i][0]][0];
    for (let i = at; i >= 0; i--) if (events[i].program === events[at].program && v.at[i][0] >= 0) return v.tiles[v.at[i][0]][0];
    return 0;
  }

  // whether a program has nothing more to do at a moment of the chosen sequence
  function finished(program, at) {
    for (let j = now.k + 1; j < now.sequence.length; j++) if (events[now.sequence[j]].program === program) return false;
    return now.sequence.some((i) => events[i].program === program);
  }
