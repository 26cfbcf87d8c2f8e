/** Submit a job: choose or upload its program, say how it runs. */

import { useRef, useState } from "preact/hooks";
import { deleteProgram, runProgram, type RunRequest, uploadProgram } from "../api/operations";
import { usePolled } from "../api/polling";
import { mayOnlyRead, mayOperate } from "../api/session";
import type { Program, SavepointRow, ServerConfig } from "../api/types";
import { moment } from "../format/times";
import { argumentsOf, settingsOf } from "../model/run_form";
import { Heading } from "../parts/heading";
import { AwaitedRole, Empty } from "../parts/notice";
import { Panel } from "../parts/panel";
import { tell } from "../parts/toasts";
import { go } from "../route";

export function SubmitPage({ query }: { query: URLSearchParams }) {
  const uploads = usePolled<{ files: Program[] }>("jars", 0);
  const places = usePolled<{ files: Program[] }>("programs", 0);
  const config = usePolled<ServerConfig>("config", 0);
  const [chosen, setChosen] = useState("");
  const uploaded = (uploads.data?.files ?? []).map((file) => ({ ...file, kind: "upload" as const }));
  const there = (places.data?.files ?? []).map((file) => ({ ...file, kind: "path" as const }));
  const files = [...uploaded, ...there];
  const program = files.find((file) => keyOf(file) === chosen) ?? (files.length === 1 ? files[0] : undefined);
  const may = config.data?.features?.["web-submit"] !== false;
  return (
    <>
      <Heading title="Submit a job" />
      <Panel title="Program">
        {mayOnlyRead.value ? (
          <p class="notice">This token can only read. Log in with the operate token to submit a job.</p>
        ) : !mayOperate.value ? (
          <AwaitedRole />
        ) : may ? (
          <Upload taken={(id) => (setChosen(`upload ${id}`), uploads.refresh())} />
        ) : (
          <p class="notice">
            This server accepts no uploads. Start it with <code>--allow-uploads</code>, or with{" "}
            <code>--programs</code> and a directory of job files. Or submit the job with <code>millrace run --server</code>.
          </p>
        )}
        {mayOperate.value && (may || files.length > 0) && (
          <Programs files={files} chosen={program} choose={setChosen} refresh={uploads.refresh} />
        )}
      </Panel>
      <RunForm program={program} query={query} />
    </>
  );
}

/** A program that can be chosen: an upload, or a file of the server's machine. */
type Choice = Program & { kind: "upload" | "path" };

const keyOf = (file: Choice): string => `${file.kind} ${file.id}`;

function Upload({ taken }: { taken: (id: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const [over, setOver] = useState(false);
  const [problem, setProblem] = useState("");
  const send = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    setBusy(true);
    setProblem("");
    try {
      taken(await uploadProgram(file));
      tell(`${file.name} is uploaded.`);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
    if (input.current) input.current.value = "";
  };
  return (
    <>
      <label
        class={over ? "drop over" : "drop"}
        onDragOver={(event) => (event.preventDefault(), setOver(true))}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void send(event.dataTransfer?.files[0]);
        }}
      >
        <strong>{busy ? "Uploading…" : "Upload a job file"}</strong>
        <span class="muted">A Python file, a module.yaml, or a zip file with one of them. Drop the file here.</span>
        <input
          ref={input} type="file" accept=".py,.zip,.yaml,.yml" disabled={busy}
          onChange={(event) => void send(event.currentTarget.files?.[0])}
        />
      </label>
      <p class="problem" role="alert">{problem}</p>
    </>
  );
}

interface ProgramsProps {
  files: Choice[];
  chosen: Choice | undefined;
  choose: (id: string) => void;
  refresh: () => void;
}

function Programs({ files, chosen, choose, refresh }: ProgramsProps) {
  if (!files.length) return <Empty>There is no program yet.</Empty>;
  const remove = async (file: Program): Promise<void> => {
    try {
      await deleteProgram(file.id);
      tell(`${file.name} is deleted.`);
      refresh();
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error), true);
    }
  };
  return (
    <fieldset class="choices">
      <legend class="hidden">Program to run</legend>
      {files.map((file) => (
        <div key={keyOf(file)} class="choice">
          <label>
            <input
              type="radio" name="program" value={keyOf(file)}
              checked={file === chosen} onChange={() => choose(keyOf(file))}
            />
            <span class="strong">{file.name}</span>
            <span class="muted">
              {file.entry?.[0]?.description || (file.kind === "path" ? `On the server: ${file.id}` : `Uploaded ${moment(file.uploaded)}`)}
            </span>
          </label>
          {file.kind === "upload" && (
            <button type="button" class="link" aria-label={`Delete ${file.name}`} onClick={() => void remove(file)}>Delete</button>
          )}
        </div>
      ))}
    </fieldset>
  );
}

function RunForm({ program, query }: { program: Choice | undefined; query: URLSearchParams }) {
  const savepoints = usePolled<{ savepoints: SavepointRow[] }>("savepoints", 0);
  const [name, setName] = useState(query.get("name") ?? "");
  const [words, setWords] = useState("");
  const [parallelism, setParallelism] = useState("");
  const [savepoint, setSavepoint] = useState(query.get("savepoint") ?? "");
  const [lenient, setLenient] = useState(false);
  const [settings, setSettings] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!program) return;
    setProblem("");
    setBusy(true);
    try {
      const request: RunRequest = {
        programArgsList: argumentsOf(words),
        flinkConfiguration: settingsOf(settings),
        ...(name.trim() ? { jobName: name.trim() } : {}),
        ...(parallelism ? { parallelism: Number(parallelism) } : {}),
        ...(savepoint.trim() ? { savepointPath: savepoint.trim(), allowNonRestoredState: lenient } : {}),
      };
      const job = await runProgram(program.kind === "upload" ? { upload: program.id } : { path: program.id }, request);
      tell("The job is submitted.");
      go(["jobs", job]);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Panel title="Options of the run">
      <form class="form" onSubmit={(event) => void submit(event)}>
        <label class="field">
          Name
          <input value={name} placeholder="Name in the program" onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label class="field">
          Parallelism
          <input
            type="number" min="1" value={parallelism} placeholder="As configured"
            onInput={(event) => setParallelism(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          Arguments
          <textarea rows={3} value={words} placeholder="One per line" onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
        <label class="field">
          Settings
          <textarea
            rows={3} value={settings} placeholder="name: value, one per line"
            onInput={(event) => setSettings(event.currentTarget.value)}
          />
        </label>
        <label class="field whole">
          Start from savepoint
          <input
            list="savepoints" value={savepoint} placeholder="None: start with empty state"
            onInput={(event) => setSavepoint(event.currentTarget.value)}
          />
          <datalist id="savepoints">
            {(savepoints.data?.savepoints ?? []).map((row) => (
              <option key={row.path} value={row.path}>{`${row["job-name"] ?? ""} ${moment(row.time)}`}</option>
            ))}
          </datalist>
        </label>
        {savepoint.trim() && (
          <label class="check whole">
            <input type="checkbox" checked={lenient} onChange={(event) => setLenient(event.currentTarget.checked)} />
            <span>
              Allow non-restored state
              <small>If the program no longer has an operator, its state in the savepoint is dropped.</small>
            </span>
          </label>
        )}
        <p class="problem whole" role="alert">{problem}</p>
        <div class="actions whole">
          <button type="submit" class="button primary" disabled={busy || !program || !mayOperate.value}>{busy ? "Submitting…" : "Submit"}</button>
          {!program && mayOperate.value && <span class="muted">Choose a program first.</span>}
        </div>
      </form>
    </Panel>
  );
}
