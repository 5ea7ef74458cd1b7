  // ---- what went wrong: findings, and lanes outside their tensor -------------------------------------------------

  const alarms = (() => {
    function outside(p, e) {
      if (!e.outside || e.tile.runs) return "";
      const [r0, r1, c0, c1] = e.tile.box;
      const beyond = [[r0, r1, Math.max(c0, p.cols), c1], [Math.max(r0, p.rows), r1, c0, Math.min(c1, p.cols)], [r0, r1, c0, Math.min(0, c1)], [r0, Math.min(0, r1), c0, c1]];
      return beyond.filter((b) => b[1] > b[0] && b[3] > b[2]).map((b) => {
        const q = place(p, b);
        return rect(q, "ground") + rect(q, "outside") + path("outside-lines", hatch(q, 8) + hatch(q, 8, true));
      }).join("");
    }

    function words(e) {
      const said = data.findings.filter((f) => f[0] === now.sequence[now.k]).map((f) => f[1] === "running value" ? f[2] : f[1]);
      if (e.outside) said.push(plural(e.outside, "lane") + " outside the tensor");
      return said.length ? "⚠ " + said.join(", ") : "";
    }

    // where the findings are on the time line
    function mark() {
      const marks = find("marks"), n = now.sequence.length;
      marks.replaceChildren();
      data.findings.forEach(([at, kind, message]) => {
        const k = now.sequence.indexOf(at);
        if (at < 0 || k < 0) return;
        const sign = add(marks, "button", { type: "button", textContent: "▲", title: message, onclick: () => seek(k) });
        sign.setAttribute("aria-label", `${kind}, moment ${k + 1}`);
        sign.style.left = (100 * (k + 0.5)) / n + "%";
      });
    }

    root.querySelectorAll(".finding[data-at]").forEach((node) => (node.onclick = () => { if (now.program >= 0) choose(-1); seek(now.sequence.indexOf(+node.dataset.at)); }));
    return { outside, words, mark };
  })();
