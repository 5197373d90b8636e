// The part of the address after "#": which page is shown, and how its table is filtered. Every page
// and every filter has such a link, which stays valid in later versions.

import { useEffect, useState } from "preact/hooks";

export interface Route {
  page: string; // "", "tests", "test", …
  path: string; // the rest of the path, decoded: a test's id, a file
  query: URLSearchParams;
}

export function parse(hash: string): Route {
  const text = hash.replace(/^#\/?/, "");
  const question = text.indexOf("?");
  const path = question < 0 ? text : text.slice(0, question);
  const slash = path.indexOf("/");
  const rest = slash < 0 ? "" : path.slice(slash + 1);
  let decoded = rest;
  try {
    decoded = decodeURIComponent(rest);
  } catch {
    // Not written by link(): shown as it is.
  }
  return {
    page: slash < 0 ? path : path.slice(0, slash),
    path: decoded,
    query: new URLSearchParams(question < 0 ? "" : text.slice(question + 1)),
  };
}

export function link(page: string, path = "", query: Record<string, string | undefined> = {}): string {
  const set = Object.entries(query).filter((entry): entry is [string, string] => !!entry[1]);
  const question = set.length ? `?${new URLSearchParams(set).toString()}` : "";
  return `#/${page}${path ? `/${encodeURIComponent(path)}` : ""}${question}`;
}

export const testLink = (id: string) => link("test", id);

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => setRoute(parse(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

// Changes a page's query without a new entry in the browser's history.
export function replaceQuery(route: Route, query: Record<string, string | undefined>): void {
  const all = { ...Object.fromEntries(route.query), ...query };
  history.replaceState(null, "", link(route.page, route.path, all));
  dispatchEvent(new HashChangeEvent("hashchange"));
}
