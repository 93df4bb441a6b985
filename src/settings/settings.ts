/**
 * The settings, read from environment variables. One table holds name, default, meaning and check of each; the
 * documentation is generated from it. A bad value stops the start: a setting that is ignored is found too late.
 */

import { join, resolve } from 'node:path';
import { z } from 'zod';
import { DEPTH_VARIABLE } from '../base/bridge-depth.ts';
import { messageOf } from '../base/errors.ts';
import { homeFolder } from '../base/home.ts';
import { KEPT_OUTPUT_BYTES, MAX_SHOWN_CHARS } from '../base/limits.ts';
import { escapeControls, LOG_LEVELS } from '../base/log.ts';
import { didYouMean } from '../base/suggest.ts';
import { parseDurationMs, parseSizeBytes } from '../base/units.ts';
import { CLIENT_IDS } from '../clients/table.ts';
import { type ConfigSource, parseSources } from '../servers/sources.ts';
import { AUDIT_SETTINGS } from './audit-settings.ts';
import { parseMounts } from './mounts.ts';
import { type RefusedSetting, refusal } from './refused-settings.ts';
import { oneOf, onOrOff, type SettingDefinition } from './setting-schemas.ts';
import { TRUST_DEFINITIONS } from './trust-settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = 'MCP_BRIDGE_';
/** Set by the bridge itself, in the environment of the servers it starts. */
const INTERNAL_VARIABLES: readonly string[] = [DEPTH_VARIABLE];
/** Settings that existed once, and what holds instead. */
export const REMOVED_VARIABLES: Readonly<Record<string, string>> = {
  MCP_BRIDGE_KEYRING: 'logins are always kept in files that only you can read',
};
const MAX_SHOWN_VALUE_CHARS = 80;
/** A reason repeats a part of the value. Chosen. */
const MAX_REASON_CHARS = 200;

const HOUR_MS = 3_600_000;
/** Longest deadline of a cell. Chosen: a day. */
const MAX_TIMEOUT_MS = 24 * HOUR_MS;
/** `setTimeout` fires at once beyond 2^31-1 ms, which is 24.8 days. */
const MAX_IDLE_MS = 24 * 24 * HOUR_MS;
/** The kernel at rest takes about 25 MB; with less than this not even the start succeeds. Chosen. */
const MIN_MEMORY_BYTES = 32 * 1024 ** 2;
/** The supervisor, the worker, its reader thread and a few children. Chosen. */
const MIN_PIDS = 8;
/** Largest pid of a 64-bit Linux. */
const MAX_PIDS = 4_194_304;
/** Less does not hold a traceback. Chosen. */
const MIN_SHOWN_CHARS = 1_000;
/** What the kernel keeps of one stream, both ends together: more there never is to show. */
const MOST_OUTPUT_CHARS = 2 * KEPT_OUTPUT_BYTES;

const wholeSeconds = z
  .string()
  .transform(parseDurationMs)
  .pipe(z.int().multipleOf(1000).min(1000).max(MAX_TIMEOUT_MS))
  .transform((ms) => ms / 1000);
/** Names Python's logging knows besides ours, which configurations of other servers use. */
const LEVEL_ALIASES: Readonly<Record<string, string>> = { WARN: 'WARNING', CRITICAL: 'ERROR' };

const DEFINITIONS = {
  runtime: {
    variable: 'MCP_BRIDGE_RUNTIME',
    default: 'auto',
    meaning: 'Engine. `auto` takes the first of the four that works; `container` only podman or docker.',
    allowed: 'auto, podman, docker, bubblewrap, embedded or container',
    schema: oneOf(['auto', 'podman', 'docker', 'bubblewrap', 'embedded', 'container']),
  },
  image: {
    variable: 'MCP_BRIDGE_IMAGE',
    default: 'python:3.14-slim',
    meaning: 'Image of the sandbox: any with Python 3.10 or newer.',
    allowed: 'a name with optional registry, tag or digest, such as python:3.14-slim',
    // The first character keeps it from being read as an option of the engine.
    schema: z
      .string()
      .max(512)
      .regex(/^[A-Za-z0-9][\w.:/@+-]*$/),
  },
  pull: {
    variable: 'MCP_BRIDGE_PULL',
    default: 'missing',
    meaning: 'Whether a missing image is pulled. With `never`, the answer names the command that pulls it.',
    allowed: 'missing or never',
    schema: oneOf(['missing', 'never']),
  },
  ociRuntime: {
    variable: 'MCP_BRIDGE_OCI_RUNTIME',
    meaning: "OCI runtime, passed to the engine as `--runtime`; by default the engine's own.",
    allowed: 'a name or an absolute path, such as runc, crun, runsc or kata',
    schema: z
      .string()
      .max(512)
      .regex(/^[A-Za-z0-9/][\w./+-]*$/),
  },
  timeoutSeconds: {
    variable: 'MCP_BRIDGE_TIMEOUT',
    default: '30',
    meaning: 'Deadline of a cell that names none. At most `MCP_BRIDGE_MAX_TIMEOUT`.',
    allowed: 'whole seconds from 1s to 24h, such as 30, 30s or 2m',
    schema: wholeSeconds,
  },
  maxTimeoutSeconds: {
    variable: 'MCP_BRIDGE_MAX_TIMEOUT',
    default: '120',
    meaning: 'Longest deadline a cell may ask for.',
    allowed: 'whole seconds from 1s to 24h, such as 120, 120s or 10m',
    schema: wholeSeconds,
  },
  idleTimeoutMs: {
    variable: 'MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT',
    default: '300',
    meaning: 'A session that is unused for this long ends, and its state is lost.',
    allowed: 'a duration from 100ms to 576h, such as 300, 90s or 15m',
    schema: z.string().transform(parseDurationMs).pipe(z.int().min(100).max(MAX_IDLE_MS)),
  },
  approvalTimeoutMs: {
    variable: 'MCP_BRIDGE_APPROVAL_TIMEOUT',
    default: '300',
    meaning: 'How long a question waits for your answer. The deadline of the cell is paused meanwhile.',
    allowed: 'a duration from 1s to 24h, such as 300, 90s or 10m',
    schema: z.string().transform(parseDurationMs).pipe(z.int().min(1000).max(MAX_TIMEOUT_MS)),
  },
  memoryBytes: {
    variable: 'MCP_BRIDGE_MEMORY',
    default: '512m',
    meaning: 'Memory of one sandbox, including swap.',
    allowed: 'a size of at least 32m, such as 512m or 2g',
    schema: z.string().transform(parseSizeBytes).pipe(z.int().min(MIN_MEMORY_BYTES)),
  },
  pids: {
    variable: 'MCP_BRIDGE_PIDS',
    default: '128',
    meaning: 'Processes and threads in one sandbox.',
    allowed: `a whole number from ${MIN_PIDS} to ${MAX_PIDS}`,
    schema: z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(MIN_PIDS).max(MAX_PIDS)),
  },
  cpus: {
    variable: 'MCP_BRIDGE_CPUS',
    meaning: 'CPU cores that one sandbox may use; by default all.',
    allowed: 'a number from 0.01 to 1024, such as 2 or 0.5',
    schema: z
      .string()
      .regex(/^\d+(\.\d+)?$/)
      .transform(Number)
      .pipe(z.number().min(0.01).max(1024)),
  },
  containerUser: {
    variable: 'MCP_BRIDGE_CONTAINER_USER',
    default: '65534:65534',
    meaning: 'User and group of the code inside the container.',
    allowed: 'UID or UID:GID, numbers of at least 1 (not root)',
    schema: z.string().regex(/^[1-9]\d{0,8}(:[1-9]\d{0,8})?$/),
  },
  stateDir: {
    variable: 'MCP_BRIDGE_STATE_DIR',
    default: '~/MCPs',
    meaning: 'State directory: server files (`*.json`), policy, saved functions, artifacts, audit log.',
    allowed: 'a path; ~ is your home folder',
    schema: z.string(),
  },
  serversConfig: {
    variable: 'MCP_SERVERS_CONFIG',
    meaning: 'One more file with server definitions.',
    allowed: 'a path; ~ is your home folder',
    schema: z.string(),
  },
  configSources: {
    variable: 'MCP_BRIDGE_CONFIG_SOURCES',
    default: 'mcps',
    meaning:
      'Where to find servers, in order of precedence: `mcps` is the state directory and `MCP_SERVERS_CONFIG`; the name of a client is its file for all projects.',
    allowed: `a list of mcps, all, claude (both), ${CLIENT_IDS.join(', ')}, and paths of files`,
    schema: z.string().transform((text, context) => {
      try {
        return parseSources(text);
      } catch (error) {
        context.addIssue({ code: 'custom', message: messageOf(error) });
        return z.NEVER;
      }
    }),
  },
  mounts: {
    variable: 'MCP_BRIDGE_MOUNTS',
    meaning: 'Folders of this machine that code can see, separated by commas; read-only unless `rw` is given.',
    allowed: '/host/folder:/target[:ro|rw], where the target is a new folder such as /data',
    schema: z.string().transform((text, context) => {
      try {
        return parseMounts(text);
      } catch (error) {
        context.addIssue({ code: 'custom', message: messageOf(error) });
        return z.NEVER;
      }
    }),
  },
  outputMode: {
    variable: 'MCP_BRIDGE_OUTPUT_MODE',
    default: 'compact',
    meaning: 'Text of the answers: `compact` reads like a terminal; `toon` and `json` have every field.',
    allowed: 'compact, toon or json',
    schema: oneOf(['compact', 'toon', 'json']),
  },
  maxOutputChars: {
    variable: 'MCP_BRIDGE_MAX_OUTPUT',
    default: String(MAX_SHOWN_CHARS),
    meaning: 'Characters of output, value and error in one answer, about four per token. The middle is cut.',
    allowed: `a whole number from ${MIN_SHOWN_CHARS} to ${MOST_OUTPUT_CHARS}`,
    schema: z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(MIN_SHOWN_CHARS).max(MOST_OUTPUT_CHARS)),
  },
  ...AUDIT_SETTINGS,
  logLevel: {
    variable: 'MCP_BRIDGE_LOG_LEVEL',
    default: 'INFO',
    meaning: 'Lowest level logged to stderr. Commands other than the server log from `WARNING`.',
    allowed: LOG_LEVELS.join(', '),
    schema: z
      .string()
      .toUpperCase()
      .transform((level) => LEVEL_ALIASES[level] ?? level)
      .pipe(z.enum(LOG_LEVELS)),
  },
  allowSelfServer: {
    variable: 'MCP_BRIDGE_ALLOW_SELF_SERVER',
    default: '0',
    meaning: 'Whether to keep server entries that would start this bridge again.',
    allowed: '0 or 1',
    schema: onOrOff,
  },
  autoload: {
    variable: 'MCP_BRIDGE_AUTOLOAD',
    default: '0',
    meaning: 'Whether code may call every configured server, even if `servers` does not name it.',
    allowed: '0 or 1',
    schema: onOrOff,
  },
  ...TRUST_DEFINITIONS,
} satisfies Record<string, SettingDefinition>;

type Definitions = typeof DEFINITIONS;
type WithDefault = {
  [Key in keyof Definitions]: Definitions[Key] extends { default: string } ? Key : never;
}[keyof Definitions];

/** Every setting, checked: numbers in the unit of their name, paths absolute. */
export type Settings = Readonly<
  { [Key in WithDefault]: z.output<Definitions[Key]['schema']> } & {
    [Key in Exclude<keyof Definitions, WithDefault>]?: z.output<Definitions[Key]['schema']> | undefined;
  }
>;

/** What the documentation shows, in its order. `default` is empty when there is none. */
export const SETTINGS_TABLE: readonly {
  readonly variable: string;
  readonly default: string;
  readonly meaning: string;
  readonly allowed: string;
}[] = Object.values<SettingDefinition>(DEFINITIONS).map((definition) => ({
  variable: definition.variable,
  default: definition.default ?? '',
  meaning: definition.meaning,
  allowed: definition.allowed,
}));

/**
 * The settings of an environment. An empty variable counts as not set. Throws `CONFIG_INVALID` naming every refused
 * variable, its value and what is allowed.
 */
export function loadSettings(env: Environment): Settings {
  const refused: RefusedSetting[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, definition] of Object.entries<SettingDefinition>(DEFINITIONS)) {
    const text = textOf(env, definition);
    if (text !== undefined) {
      const checked = definition.schema.safeParse(text);
      values[key] = checked.data;
      if (!checked.success) {
        const why = checked.error.issues.find(({ code }) => code === 'custom');
        const reason = why === undefined ? '' : ` (${escapeControls(cut(why.message, MAX_REASON_CHARS))})`;
        const { allowed, variable } = definition;
        refused.push({ variable, sentence: `${variable} is ${shown(text)}${reason}; allowed: ${allowed}.` });
      }
    }
  }
  if (refused.length > 0) {
    throw refusal(refused);
  }
  return finish(values as unknown as Settings, env);
}

/** One sentence for each `MCP_BRIDGE_*` variable that no setting reads: one that was removed, or probably a misspelling. */
export async function describeUnknownVariables(env: Environment): Promise<string[]> {
  const known = [...SETTINGS_TABLE.map((setting) => setting.variable), ...INTERNAL_VARIABLES];
  const unknown = Object.keys(env).filter((variable) => variable.startsWith(PREFIX) && !known.includes(variable));
  return Promise.all(
    unknown.map(async (variable) => {
      const instead = REMOVED_VARIABLES[variable];
      return instead === undefined
        ? `${variable} is set, but there is no such setting.${await didYouMean(variable, known)}`
        : `${variable} is set, but this setting was removed: ${instead}.`;
    }),
  );
}

/** What cannot be said of one variable alone: bounds between two of them, and paths. */
function finish(settings: Settings, env: Environment): Settings {
  const { maxTimeoutSeconds } = settings;
  const isTimeoutSet = textOf(env, { ...DEFINITIONS.timeoutSeconds, default: '' }) !== '';
  if (isTimeoutSet && settings.timeoutSeconds > maxTimeoutSeconds) {
    const { variable } = DEFINITIONS.timeoutSeconds;
    const most = `${DEFINITIONS.maxTimeoutSeconds.variable}, which is ${maxTimeoutSeconds} seconds`;
    const sentence = `${variable} is ${settings.timeoutSeconds} seconds; allowed: at most ${most}.`;
    throw refusal([{ variable, sentence }]);
  }
  return {
    ...settings,
    timeoutSeconds: Math.min(settings.timeoutSeconds, maxTimeoutSeconds),
    stateDir: toPath(settings.stateDir, env),
    configSources: settings.configSources.map((source): ConfigSource => {
      return source.kind === 'file' ? { kind: 'file', path: toPath(source.path, env) } : source;
    }),
    ...(settings.serversConfig !== undefined && { serversConfig: toPath(settings.serversConfig, env) }),
  };
}

function textOf(env: Environment, definition: SettingDefinition): string | undefined {
  return env[definition.variable]?.trim() || definition.default;
}

function toPath(path: string, env: Environment): string {
  return resolve(/^~(?=$|[/\\])/.test(path) ? join(homeFolder(env), path.slice(1)) : path);
}

function shown(text: string): string {
  return `'${escapeControls(cut(text, MAX_SHOWN_VALUE_CHARS))}'`;
}

function cut(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
}
