// Starts the page as soon as its summary has been read; the rest of the document may still follow.

import { render } from "preact";

import { App } from "./app";
import type { Summary } from "./data";
import { summaryOfPage } from "./loader";

render(<App summary={summaryOfPage<Summary>()} />, document.getElementById("app")!);
