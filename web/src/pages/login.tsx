/** Asks for the token without which the server answers nothing. */

import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../api/client";
import { reach, remember, token } from "../api/session";

export function LoginPage() {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState(token.value ? "The server does not accept the token of this tab." : "");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = "Log in · Millrace";
    field.current?.focus();
  }, []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    remember(text.trim());
    try {
      await ask("overview");
    } catch (error) {
      remember(null);
      setProblem(error instanceof Error ? error.message : String(error));
      field.current?.focus();
      // the request has said that the server is away, but this page is the one to show
      reach.value = "denied";
    }
  };
  return (
    <main class="login">
      <form class="panel" onSubmit={(event) => void submit(event)}>
        <h1>
          <img src="./icon.svg" alt="" width="32" height="32" />
          Millrace
        </h1>
        <label for="token">Token</label>
        <input
          id="token"
          ref={field}
          type="password"
          autocomplete="current-password"
          required
          value={text}
          aria-describedby="token-help token-problem"
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <p class="help" id="token-help">
          Started in a terminal, <code>millrace server</code> prints a link with the token. The server keeps the token in the
          file <code>operate.token</code> in its directory. This page forgets the token when you close the tab.
        </p>
        <p class="problem" id="token-problem" role="alert">{problem}</p>
        <button type="submit" class="button primary">Log in</button>
      </form>
    </main>
  );
}
