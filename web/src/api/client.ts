/** Requests to the server that this page came from. */

import { noteServerTime, reach, token } from "./session";

/** A request that the server refused, or did not answer. */
export class RequestError extends Error {
  constructor(
    /** 0: there was no answer. */
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const GATEWAY_STATUSES = new Set([502, 503, 504]);

export interface Ask {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** Sent as JSON; a `FormData` is sent as it is. */
  body?: unknown;
  signal?: AbortSignal;
}

/** The JSON that the server answers.
 *
 * Throws a `RequestError`; one of `status` 401 also brings up the page that asks for a token. */
export async function ask<T>(path: string, { method = "GET", body, signal }: Ask = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (token.value) headers["Authorization"] = `Bearer ${token.value}`;
  const isForm = body instanceof FormData;
  if (body !== undefined && !isForm) headers["Content-Type"] = "application/json";
  const sent = isForm ? body : body === undefined ? null : JSON.stringify(body);
  let response: Response;
  try {
    // relative: the server may be behind a proxy that gives it a path
    response = await fetch(`./${path}`, { method, headers, body: sent, signal: signal ?? null });
  } catch (error) {
    if (signal?.aborted) throw error;
    reach.value = "away";
    throw new RequestError(0, "The server does not answer.");
  }
  noteServerTime(response.headers.get("Date"));
  if (response.status === 401) {
    reach.value = "denied";
    throw new RequestError(401, "The server does not accept this token.");
  }
  if (GATEWAY_STATUSES.has(response.status) && !isJson(response)) {
    reach.value = "away";
    throw new RequestError(response.status, "The proxy answers, but the server behind it does not.");
  }
  reach.value = "ok";
  if (!response.ok) throw new RequestError(response.status, await problem(response));
  return (response.status === 204 || !isJson(response) ? {} : await response.json()) as T;
}

function isJson(response: Response): boolean {
  return (response.headers.get("Content-Type") ?? "").includes("json");
}

async function problem(response: Response): Promise<string> {
  try {
    const answer = (await response.json()) as { errors?: string[] };
    const said = answer.errors?.filter(Boolean).join(" ");
    if (said) return said;
  } catch {
    // what is no JSON says less than the status
  }
  if (response.status === 403) return "This token can only read. Log in with the operate token.";
  return `The server answered ${response.status} ${response.statusText}.`;
}
