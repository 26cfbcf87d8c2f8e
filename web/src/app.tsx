/** The frame of all pages: header, the page that the address means, messages. */

import { useEffect, useRef } from "preact/hooks";
import { ask } from "./api/client";
import { EVERY_MS } from "./api/polling";
import { mayOnlyRead, reach, remember, role, roleProblem, takeTokenFromAddress, token } from "./api/session";
import type { ServerConfig } from "./api/types";
import { pauseAfter } from "./model/poll_pause";
import { ComparePage } from "./pages/compare";
import { JobPage } from "./pages/job";
import { JobsPage } from "./pages/jobs";
import { LoginPage } from "./pages/login";
import { RunsPage } from "./pages/runs";
import { SavepointsPage } from "./pages/savepoints";
import { ServerPage } from "./pages/server";
import { SubmitPage } from "./pages/submit";
import { WorkerPage } from "./pages/worker";
import { Heading } from "./parts/heading";
import { Empty } from "./parts/notice";
import { type Theme, theme, THEMES } from "./parts/theme";
import { Toasts } from "./parts/toasts";
import { route, to } from "./route";

const PAGES = [
  { name: "jobs", title: "Jobs" },
  { name: "savepoints", title: "Savepoints" },
  { name: "submit", title: "Submit" },
  { name: "server", title: "Server" },
];

export function App() {
  const { path } = route.value;
  const page = path[0] ?? "jobs";
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const place = path.slice(0, page === "jobs" ? 2 : 1).join("/");
  useEffect(() => {
    scrollTo(0, 0);
    // after a change of page the keyboard goes on from its beginning
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [place]);
  // a link with a token may be opened in a tab that has the page already
  useEffect(() => {
    addEventListener("hashchange", takeTokenFromAddress);
    return () => removeEventListener("hashchange", takeTokenFromAddress);
  }, []);
  const denied = reach.value === "denied";
  useEffect(() => {
    if (denied) role.value = null;
    if (denied || role.value !== null) return;
    const asked = token.value;
    let timer = 0;
    let failures = 0;
    let over = false;
    const run = (): void => {
      ask<ServerConfig>("config").then(
        (config) => {
          if (over || token.value !== asked || reach.value === "denied") return;
          role.value = config.role ?? "operate";
          roleProblem.value = null;
        },
        (error: unknown) => {
          if (over) return;
          roleProblem.value = error instanceof Error ? error.message : String(error);
          timer = window.setTimeout(run, pauseAfter(++failures, EVERY_MS));
        },
      );
    };
    run();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [token.value, reach.value]);
  if (denied) return <LoginPage />;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={to(["jobs"])}>
          <img src="./icon.svg" alt="" width="24" height="24" />
          Millrace
        </a>
        <nav aria-label="Pages">
          {PAGES.map(({ name, title }) => (
            <a key={name} href={to([name])} aria-current={page === name ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <div class="top-end">
          {mayOnlyRead.value && <span class="tag quiet" title="This token can read everything except records and stack samples. It cannot change anything.">Read only</span>}
          <ThemeSwitch />
          {token.value && (
            <button type="button" class="link" onClick={() => (remember(null), (reach.value = "denied"))}>
              Log out
            </button>
          )}
        </div>
      </header>
      <Away />
      <main ref={main} id="main" tabIndex={-1}>
        <Page page={page} />
      </main>
      <Toasts />
    </>
  );
}

function Page({ page }: { page: string }) {
  const { path, query } = route.value;
  switch (page) {
    case "jobs":
      if (path[1] === "compare") return <RunsPage query={query} />;
      return path[1] ? <JobPage key={path[1]} id={path[1]} tab={path[2] ?? "overview"} /> : <JobsPage />;
    case "savepoints":
      return path[1] === "compare" ? <ComparePage query={query} /> : <SavepointsPage query={query} />;
    case "submit":
      return <SubmitPage key={location.hash} query={query} />;
    case "workers":
      return <WorkerPage key={path[1]} id={path[1] ?? ""} />;
    case "server":
      return <ServerPage />;
    default:
      return (
        <>
          <Heading title="Page not found" />
          <Empty>There is no such page. <a href={to(["jobs"])}>See the jobs</a>.</Empty>
        </>
      );
  }
}

/** What is shown stays when the server goes away, so it must be said that it is old. */
function Away() {
  return (
    <div role="status" aria-live="polite">
      {reach.value === "away" && (
        <p class="away">The server does not answer. This page may show old values. Trying again…</p>
      )}
    </div>
  );
}

function ThemeSwitch() {
  return (
    <label class="theme">
      <span class="hidden">Theme</span>
      <select
        aria-label="Theme"
        value={theme.value}
        onChange={(event) => (theme.value = event.currentTarget.value as Theme)}
      >
        {THEMES.map((name) => (
          <option key={name} value={name}>
            {name === "system" ? "Auto" : name.charAt(0).toUpperCase() + name.slice(1)}
          </option>
        ))}
      </select>
    </label>
  );
}

