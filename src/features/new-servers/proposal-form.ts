/**
 * The form that asks whether a server may be added. It shows everything that would run, whole; what strangers wrote is only on indented
 * lines, which a client shows as code.
 */
import { BridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { COMMAND } from '../../core/base/package.ts';
import { oneLine } from '../../core/catalog/visible.ts';
import { addCommand, type PlannedEntry } from '../../edges/registries/entry.ts';
import type { NewServer } from '../../edges/registries/new-server.ts';

export interface Proposal {
  readonly session: string;
  /** The name that the server would get. */
  readonly alias: string;
  readonly server: NewServer;
  readonly planned: PlannedEntry;
  /** Secrets that it needs and that are not stored. */
  readonly missing: readonly string[];
  /** Another server whose name looks the same. */
  readonly resembles: string | undefined;
}

/** As for calls: what is left out may be what matters, and more than this nobody reads. */
const MAX_FORM_CHARS = 10_000;

/** Throws `APPROVAL_UNAVAILABLE` if it would be too long. */
export function proposalForm(proposal: Proposal) {
  const { missing, server, session } = proposal;
  const isRemote = server.run?.kind === 'remote';
  const message = [
    `Code in session '${session}' wants to add an MCP server that is not configured.`,
    isRemote
      ? 'It is on the network: it gets what code sends to its tools.'
      : server.run?.kind === 'oci'
        ? 'It is a container that runs on this machine, outside of the sandbox of the code.'
        : 'It runs on this machine with your rights, outside of the sandbox of the code. Its package is downloaded when it starts.',
    factsOf(proposal)
      .map((line) => `    ${oneLine(line, Number.POSITIVE_INFINITY)}`)
      .join('\n'),
    ...(missing.length === 0
      ? []
      : [`Do not write secrets here. Once it is added, store them: ${missing.map(storeCommand).join('; ')}`]),
    'Indented lines come from the registry and the code; the bridge has checked none of what they claim. Calls of tools that the server marks as destructive will ask you.',
  ].join('\n\n');
  if (message.length > MAX_FORM_CHARS) {
    throw new BridgeError(
      'APPROVAL_UNAVAILABLE',
      `server '${server.name}' was not added: it is too much to show in a question`,
      {
        hint: `Ask the user to run: ${addCommand(server.name)}`,
      },
    );
  }
  return {
    mode: 'form' as const,
    message,
    requestedSchema: {
      type: 'object',
      properties: { add: { type: 'boolean', title: 'Add this server?', default: false } },
      required: [],
    },
  };
}

function storeCommand(secret: string): string {
  return `${COMMAND} secrets set ${secret}`;
}

function factsOf({ alias, missing, planned, resembles, server }: Proposal): string[] {
  const { entry, runs } = planned;
  const { description, isDeprecated, name, origin, publisher, repository, run, users, version } = server;
  const settings = [...pairsOf(entry['env'], '='), ...pairsOf(entry['headers'], ': ')];
  return [
    `Server: ${name}`,
    `Name here: ${alias}`,
    `Publisher: ${publisher}`,
    ...(repository === undefined ? [] : [`Repository: ${repository}`]),
    `Version: ${version || 'not said'}`,
    `Found in: ${origin}`,
    ...(users === undefined ? [] : [`Downloads: ${users.toLocaleString('en-US')}`]),
    ...(isDeprecated ? ['Status: deprecated'] : []),
    ...(resembles === undefined ? [] : [`Warning: its name looks like that of ${resembles}`]),
    `${run?.kind === 'remote' ? 'Address' : 'Command'}: ${runs}`,
    ...settings.map((one) => `With: ${one}`),
    ...planned.secrets.map((secret) => `Secret: ${secret} (${missing.includes(secret) ? 'not stored yet' : 'stored'})`),
    `Its own words: ${description || 'none'}`,
  ];
}

function pairsOf(value: unknown, between: string): string[] {
  return isObject(value) ? Object.entries(value).map(([key, text]) => `${key}${between}${String(text)}`) : [];
}
