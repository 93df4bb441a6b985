/** New servers as code, JSON and the terminal show them. */
import { showRun } from './entry.ts';
import type { Found, FoundServer, Source } from './find.ts';
import { type Input, showTemplate } from './new-server.ts';

/** One server as a JSON object. Texts in it are data from the registry. */
export function describeNewServer({ resembles, server }: FoundServer): Record<string, unknown> {
  const {
    description,
    inputs,
    isDeprecated,
    name,
    origin,
    publisher,
    refusal,
    repository,
    run,
    title,
    users,
    version,
  } = server;
  return {
    name,
    title: title ?? null,
    description,
    publisher,
    repository: repository ?? null,
    version,
    kind: run?.kind ?? null,
    runs: run === undefined ? null : showRun(run),
    needs: inputs.map((input) => ({
      name: input.name,
      description: input.description,
      required: input.isRequired,
      secret: input.isSecret,
      default: input.default ?? null,
    })),
    mounts: run === undefined || run.kind === 'remote' ? [] : run.mounts.map(showTemplate),
    status: isDeprecated ? 'deprecated' : 'active',
    users: users ?? null,
    warning: resembles === undefined ? null : `its name looks like that of ${resembles}`,
    not_addable: refusal ?? null,
    source: origin,
  };
}

/** What a person must know of a list: where it is from, of when it is, and what is missing. One sentence for each source. */
export function describeSources({ sources }: Pick<Found, 'sources'>): string[] {
  return sources.map(describeSource);
}

function describeSource({ atMs, origin, problem }: Source): string {
  const at = atMs === undefined ? undefined : new Date(atMs).toISOString().slice(0, 16).replace('T', ' ');
  if (problem === undefined) {
    return `From ${origin}, as of ${at} UTC.`;
  }
  return at === undefined ? `${problem}. There is no copy.` : `${problem}. From the copy of ${at} UTC.`;
}

/** `API_KEY (secret), path`; optional ones are left out. */
export function describeNeeds(inputs: readonly Input[]): string {
  const required = inputs.filter((input) => input.isRequired && input.default === undefined);
  return required.map(({ isSecret, name }) => (isSecret ? `${name} (secret)` : name)).join(', ');
}
