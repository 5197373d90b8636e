// Reads the parts of a page: from the page itself, or from the server that sent it. Not for what is
// in them (data.ts).

import type { Loader } from "./data";

// A part as the page carries it: JSON, compressed with gzip, in base64.
async function decode(text: string): Promise<string> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

// Large parts stand at the end of the page, which may still be read when the first one is asked for.
const wholePage = new Promise<void>((done) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => done());
  else done();
});

const fromPage: Loader = {
  async load<T>(name: string): Promise<T> {
    await wholePage;
    const element = document.getElementById(`part-${name}`);
    if (!element) throw new Error(`this page has no part "${name}"`);
    return JSON.parse(await decode(element.textContent ?? "")) as T;
  },
};

function fromServer(base: string): Loader {
  return {
    async load<T>(name: string): Promise<T> {
      const answer = await fetch(`${base}/${encodeURIComponent(name)}`);
      if (!answer.ok) throw new Error(`${name}: the server answers ${answer.status} ${answer.statusText}`);
      return (await answer.json()) as T;
    },
  };
}

// A page that a server sent names where its parts are.
// Its "summary" is a part like the others, too.
const base = document.documentElement.dataset.parts;
export const isServed = base !== undefined;
// In a report that a site publishes, without the files beside it: where the site is. On a site's own
// pages their summary says so.
export const siteRoot = document.documentElement.dataset.site;
const loader = base === undefined ? fromPage : fromServer(base);
const loaded = new Map<string, Promise<unknown>>();

// A part that was read once is kept.
export function load<T>(name: string): Promise<T> {
  let part = loaded.get(name);
  if (!part) {
    part = loader.load<T>(name);
    loaded.set(name, part);
    part.catch(() => loaded.delete(name));
  }
  return part as Promise<T>;
}

// A part that may have changed since it was read. With a new summary, all other parts are read anew.
export function reload<T>(name: string): Promise<T> {
  if (name === "summary") loaded.clear();
  else loaded.delete(name);
  return load<T>(name);
}

export function summaryOfPage<T>(): T {
  return JSON.parse(document.getElementById("summary")?.textContent ?? "null") as T;
}
