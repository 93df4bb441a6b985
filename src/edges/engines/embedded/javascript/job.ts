/** The first line from the host: the program and what it gets. The bridge writes it, so it is read without distrust. */

export interface ProgramJob {
  readonly entry: string;
  readonly files: readonly { readonly name: string; readonly content: string }[];
  readonly args: readonly string[];
  /** Base64. */
  readonly stdin: string;
  readonly env: Readonly<Record<string, string>>;
  readonly wants_files: boolean;
  readonly servers: readonly { readonly name: string; readonly alias: string }[];
}

/** Members that the line omits get their defaults. Throws if it is not a job. */
export function parseJob(line: string): ProgramJob {
  const job = JSON.parse(line) as Partial<ProgramJob> & { type?: string };
  if (job.type !== 'job' || typeof job.entry !== 'string' || !Array.isArray(job.files)) {
    throw new Error('the first line is not a job');
  }
  const { args = [], entry, env = {}, files, servers = [], stdin = '', wants_files = false } = job;
  return { args, entry, env, files, servers, stdin, wants_files };
}
