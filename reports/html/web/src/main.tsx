// The page's start: shows the run of the summary. Not for what its pages show (pages/).
import { render } from "preact";

import type { Summary } from "./data";

const text = document.getElementById("summary")?.textContent ?? "{}";
const summary = JSON.parse(text) as Summary;
const totals = summary.run?.totals ?? {};

function Totals() {
  return (
    <main>
      <h1>{summary.title}</h1>
      <ul>
        {Object.entries(totals).map(([name, count]) => (
          <li key={name}>
            {name}: {count}
          </li>
        ))}
      </ul>
    </main>
  );
}

const app = document.getElementById("app");
if (app) render(<Totals />, app);
