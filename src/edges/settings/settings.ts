/**
 * The settings, which are environment variables; a file may keep some. One table has the name, default, meaning and check of each, and
 * the documentation is generated from it. An invalid value prevents the start, so you never run with a limit you did not set.
 */

import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { DEPTH_VARIABLE } from '../../core/base/bridge-depth.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { homeFolder } from '../../core/base/home.ts';
import { KEPT_OUTPUT_BYTES, MAX_SESSIONS, MAX_SHOWN_CHARS, SESSIONS_CEILING } from '../../core/base/limits.ts';
import { escapeControls, LOG_LEVELS } from '../../core/base/log.ts';
import { parseDurationMs, parseSizeBytes } from '../../core/base/units.ts';
import { BUILDER_UID } from '../../core/session/engine.ts';
import { parseAnswerWithin } from '../clients/answer-within.ts';
import { CLIENT_IDS } from '../clients/client-ids.ts';
import { type ConfigSource, parseSources } from '../servers/config-sources.ts';
import {
  anyText,
  type Check,
  numberWithin,
  oneOf,
  onOrOff,
  parsedBy,
  RefusedText,
  readDigits,
  textLike,
  wholeNumberWithin,
} from './checks.ts';
import { FRONT_TOOLS, parseFrontTools } from './front-tools.ts';
import { parseNames, parseOwner, parsePairs, parseTolerations } from './kubernetes.ts';
import { parseMounts } from './mounts.ts';
import { readAudience, readIssuer, readScopes } from './oauth.ts';
import { MAX_MODULES_AHEAD, MAX_PRESTARTED, parsePrestart, parsePrewarmImports } from './prestart.ts';
import { NOTHING_STORED, type StoredSettings } from './stored-settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = 'MCP_BRIDGE_';
/** Set by the bridge itself in the environment of the servers it starts. */
const INTERNAL_VARIABLES: readonly string[] = [DEPTH_VARIABLE];
/** Settings that no longer exist, and what applies instead. */
export const REMOVED_VARIABLES: Readonly<Record<string, string>> = {
  MCP_BRIDGE_KEYRING: 'logins are always kept in files that only you can read',
};
const MAX_SHOWN_VALUE_CHARS = 80;
/** A reason repeats part of the value. Chosen. */
const MAX_REASON_CHARS = 200;

const HOUR_MS = 3_600_000;
/** The longest deadline of a cell. Chosen: a day. */
export const MAX_TIMEOUT_MS = 24 * HOUR_MS;
/** Beyond 2^31-1 ms, which is 24.8 days, `setTimeout` fires immediately. */
const MAX_IDLE_MS = 24 * 24 * HOUR_MS;
/** Chosen: an idle kernel needs about 25 MB, and with less memory it cannot even start. */
export const MIN_MEMORY_BYTES = 32 * 1024 ** 2;
/** The default where memory is scarce or reserved: enough for pandas with a table of some 50 MB. */
const LITTLE_MEMORY_BYTES = 512 * 1024 ** 2;
/** With less, two sandboxes of 1 GiB would leave nothing for the system. Chosen. */
const SMALL_MACHINE_BYTES = 3 * 1024 ** 3;
/** Chosen: the supervisor, the worker, its reader thread and a few children. */
export const MIN_PIDS = 8;
/** The largest pid on 64-bit Linux. */
export const MAX_PIDS = 4_194_304;
/** Chosen: less has no room for a traceback. */
const MIN_SHOWN_CHARS = 1_000;
/** Everything that the kernel keeps of one stream; there is never more to show. */
const MAX_OUTPUT_CHARS = 2 * KEPT_OUTPUT_BYTES;
/** Chosen: a day of work with cells of usual length. */
const MIN_AUDIT_BYTES = 1024 ** 2;
const PACKAGE_NAME = '[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?';
const VERSIONS = String.raw`(?:===|==|!=|<=|>=|~=|<|>)\s*[A-Za-z0-9][A-Za-z0-9.*+!_-]{0,63}`;
/**
 * A package with extras and versions, as `src/features/packages/requirement.ts` reads them, but without markers.
 */
const PREINSTALLED = new RegExp(
  String.raw`^${PACKAGE_NAME}(?:\[${PACKAGE_NAME}(?:,${PACKAGE_NAME}){0,3}\])?(?:\s*${VERSIONS}(?:\s*,\s*${VERSIONS}){0,3})?$`,
);
const MAX_PREINSTALLED_CHARS = 300;
/** Not those in extras, nor between versions of one package. */
const COMMAS_BETWEEN_PACKAGES = /,(?![^[]*\])(?!\s*[<>=!~])/;
/** A year. */
const MAX_PACKAGE_AGE_MS = 8_760 * HOUR_MS;
/** Ten years. */
const MAX_UNUSED_MS = 87_600 * HOUR_MS;
/** Chosen: less has no room for any useful package. */
const MIN_PACKAGES_BYTES = 1024 ** 2;
/** Chosen: more than one process can serve. */
const MAX_HTTP_COUNT = 10_000;
/** Ten years. */
const MAX_AUDIT_DAYS = 3_650;

/** One environment variable. */
interface SettingDefinition {
  readonly variable: string;
  /** As a user would write it; undefined if there is none. */
  readonly default?: string;
  readonly meaning: string;
  readonly allowed: string;
  /** Checks and converts the text of the variable. */
  readonly check: Check<unknown>;
}

const DIGITS = readDigits(/^\d+$/);
const DECIMAL = readDigits(/^\d+(\.\d+)?$/);

/** A deadline of a cell. */
const wholeSeconds = wholeNumberWithin((text) => parseDurationMs(text) / 1000, { min: 1, max: MAX_TIMEOUT_MS / 1000 });

/** Further level names of Python's logging, which configurations of other servers use. */
const LEVEL_ALIASES: Readonly<Record<string, string>> = { WARN: 'WARNING', CRITICAL: 'ERROR' };

const DEFINITIONS = {
  runtime: {
    variable: 'MCP_BRIDGE_RUNTIME',
    default: 'auto',
    meaning:
      'Sandbox engine. `auto` uses the first of podman, docker, bubblewrap and embedded that works; `container` uses only podman or docker; `kubernetes` runs sandboxes as Pods of a cluster.',
    allowed: 'auto, podman, docker, bubblewrap, embedded, kubernetes or container',
    check: oneOf(['auto', 'podman', 'docker', 'bubblewrap', 'embedded', 'kubernetes', 'container']),
  },
  timeoutSeconds: {
    variable: 'MCP_BRIDGE_TIMEOUT',
    default: '30',
    meaning: 'Deadline of a cell that does not set one. At most `MCP_BRIDGE_MAX_TIMEOUT`.',
    allowed: 'whole seconds from 1s to 24h, such as 30, 30s or 2m',
    check: wholeSeconds,
  },
  maxTimeoutSeconds: {
    variable: 'MCP_BRIDGE_MAX_TIMEOUT',
    default: '120',
    meaning: 'Longest deadline that a cell may set.',
    allowed: 'whole seconds from 1s to 24h, such as 120, 120s or 10m',
    check: wholeSeconds,
  },
  answerWithin: {
    variable: 'MCP_BRIDGE_ANSWER_WITHIN',
    default: 'auto',
    meaning:
      'How long a client waits for the answer of a cell. A cell that takes longer goes on, and its answer says how to wait for it. `auto` is what is known of the client; with `off`, answers come when cells have ended.',
    allowed: 'auto, off, or a duration from 1s to 24h, such as 50, 50s or 10m',
    check: parsedBy(parseAnswerWithin),
  },
  memoryBytes: {
    variable: 'MCP_BRIDGE_MEMORY',
    // With a CSV file of 100 MB, pandas needs 637 MiB to sort the table and scikit-learn to train on it (measured).
    default: '1g',
    meaning:
      'Memory limit of one sandbox, including swap. If it is not set, it is 512m on a machine with less than 3 GiB of memory, and on Kubernetes, which reserves it.',
    allowed: 'a size of at least 32m, such as 512m or 2g',
    check: wholeNumberWithin(parseSizeBytes, { min: MIN_MEMORY_BYTES }),
  },
  packages: {
    variable: 'MCP_BRIDGE_PACKAGES',
    default: 'common',
    meaning:
      'Which Python packages code may install. `common` installs well-known packages for data, documents and text, and asks you about all others; `ask` asks about each; `any` never asks.',
    allowed: 'off, common, ask or any',
    check: oneOf(['off', 'common', 'ask', 'any']),
  },
  preinstall: {
    variable: 'MCP_BRIDGE_PREINSTALL',
    meaning:
      'Packages that every session can import, whatever `MCP_BRIDGE_PACKAGES` says about them. They are fetched once, when the bridge starts.',
    allowed: 'requirements separated by commas, such as numpy,pandas>=2',
    check: parsedBy(parsePreinstalled),
  },
  autoload: {
    variable: 'MCP_BRIDGE_AUTOLOAD',
    default: 'off',
    meaning: 'Whether code may call every configured server without naming it in `servers`.',
    allowed: 'on or off',
    check: onOrOff,
  },
  mounts: {
    variable: 'MCP_BRIDGE_MOUNTS',
    meaning: 'Folders of this machine that code can see, separated by commas. Read-only unless you add `:rw`.',
    allowed: '/host/folder:/target[:ro|rw], where the target is a new folder such as /data',
    check: parsedBy(parseMounts),
  },
  approvalTimeoutMs: {
    variable: 'MCP_BRIDGE_APPROVAL_TIMEOUT',
    default: '300',
    meaning: 'How long a question waits for your answer. Meanwhile, the deadline of the cell is paused.',
    allowed: 'a duration from 1s to 24h, such as 300, 90s or 10m',
    check: wholeNumberWithin(parseDurationMs, { min: 1000, max: MAX_TIMEOUT_MS }),
  },
  stateDir: {
    variable: 'MCP_BRIDGE_STATE_DIR',
    default: '~/MCPs',
    meaning:
      'State directory, for server files (`*.json`), the policy, saved functions, artifacts and the audit log. Server files in `~/MCPs` are read too.',
    allowed: 'a path; ~ is your home folder',
    check: anyText,
  },
  serversConfig: {
    variable: 'MCP_SERVERS_CONFIG',
    meaning: 'An additional file with server definitions.',
    allowed: 'a path; ~ is your home folder',
    check: anyText,
  },
  configSources: {
    variable: 'MCP_BRIDGE_CONFIG_SOURCES',
    default: 'mcps',
    meaning:
      'Where to look for servers, in order of precedence. `mcps` is the state directory and `MCP_SERVERS_CONFIG`; the name of a client is its configuration file for all projects.',
    allowed: `a comma-separated list of mcps, all, claude (both), ${CLIENT_IDS.join(', ')}, and file paths`,
    check: parsedBy(parseSources),
  },
  tools: {
    variable: 'MCP_BRIDGE_TOOLS',
    default: 'run_python',
    meaning:
      'The tools that the client sees, in this order. `execute_code` runs programs and snippets, `executer` adds start_code_executer, execute_code(code) and stop_code_executer, `sessions` lists and resets sessions.',
    allowed: `a comma-separated list of ${FRONT_TOOLS.join(', ')}`,
    check: parsedBy(parseFrontTools),
  },
  outputMode: {
    variable: 'MCP_BRIDGE_OUTPUT_MODE',
    default: 'compact',
    meaning: 'Format of the answers. `compact` reads like a terminal; `toon` and `json` include every field.',
    allowed: 'compact, toon or json',
    check: oneOf(['compact', 'toon', 'json']),
  },
  maxOutputChars: {
    variable: 'MCP_BRIDGE_MAX_OUTPUT',
    default: String(MAX_SHOWN_CHARS),
    meaning:
      'Maximum characters of output, value and error in one answer, at about four per token. Longer text is cut in the middle.',
    allowed: `a whole number from ${MIN_SHOWN_CHARS} to ${MAX_OUTPUT_CHARS}`,
    check: wholeNumberWithin(DIGITS, { min: MIN_SHOWN_CHARS, max: MAX_OUTPUT_CHARS }),
  },
  apps: {
    variable: 'MCP_BRIDGE_APPS',
    default: 'on',
    meaning:
      'Whether clients that support MCP Apps can show the answers of `run_python` as a view: the code, its calls, tables and pictures. Other clients, and the model, get the same either way.',
    allowed: 'on or off',
    check: onOrOff,
  },
  savedTools: {
    variable: 'MCP_BRIDGE_SAVED_TOOLS',
    default: 'on',
    meaning:
      'Whether code may keep functions for later sessions with `save_tool`. `ask` asks you about each; `on` asks only before one is replaced; `off` also defines none.',
    allowed: 'off, ask or on',
    check: oneOf(['off', 'ask', 'on']),
  },
  toolbox: {
    variable: 'MCP_BRIDGE_TOOLBOX',
    meaning:
      'Shared folders of functions (`NAME.py`), which sessions load beside those that were kept, and of snippets (other extensions). They are only read, and a file that is new or has changed is used only with your consent.',
    allowed: 'paths separated by commas; ~ is your home folder',
    check: (text) => partsOf(text, ',').filter((part) => part !== ''),
  },
  image: {
    variable: 'MCP_BRIDGE_IMAGE',
    default: 'python:3.14-slim',
    meaning: 'Sandbox image. Any image with Python 3.10 or newer works.',
    allowed: 'a name with optional registry, tag or digest, such as python:3.14-slim',
    // The first character prevents the engine from reading it as an option.
    check: textLike(/^[A-Za-z0-9][\w.:/@+-]*$/, 512),
  },
  pull: {
    variable: 'MCP_BRIDGE_PULL',
    default: 'missing',
    meaning: 'Whether to pull a missing image. With `never`, the answer names the command that pulls it.',
    allowed: 'missing or never',
    check: oneOf(['missing', 'never']),
  },
  ociRuntime: {
    variable: 'MCP_BRIDGE_OCI_RUNTIME',
    meaning: 'OCI runtime, passed to the engine as `--runtime`. By default, the engine chooses.',
    allowed: 'a name or an absolute path, such as runc, crun, runsc or kata',
    check: textLike(/^[A-Za-z0-9/][\w./+-]*$/, 512),
  },
  pids: {
    variable: 'MCP_BRIDGE_PIDS',
    default: '128',
    meaning: 'Maximum number of processes and threads in one sandbox.',
    allowed: `a whole number from ${MIN_PIDS} to ${MAX_PIDS}`,
    check: wholeNumberWithin(DIGITS, { min: MIN_PIDS, max: MAX_PIDS }),
  },
  cpus: {
    variable: 'MCP_BRIDGE_CPUS',
    meaning: 'CPU cores that one sandbox may use. By default, all.',
    allowed: 'a number from 0.01 to 1024, such as 2 or 0.5',
    check: numberWithin(DECIMAL, { min: 0.01, max: 1024 }),
  },
  containerUser: {
    variable: 'MCP_BRIDGE_CONTAINER_USER',
    default: '65534:65534',
    meaning: 'User and group that run the code inside the container.',
    allowed: `UID or UID:GID, each at least 1 (not root); not UID ${BUILDER_UID}, which owns installed packages`,
    check: textLike(new RegExp(`^(?!${BUILDER_UID}(?::|$))[1-9]\\d{0,8}(:[1-9]\\d{0,8})?$`)),
  },
  idleTimeoutMs: {
    variable: 'MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT',
    default: '300',
    meaning: 'How long a session may be idle before its state is saved and its sandbox ends.',
    allowed: 'a duration from 100ms to 576h, such as 300, 90s or 15m',
    check: wholeNumberWithin(parseDurationMs, { min: 100, max: MAX_IDLE_MS }),
  },
  maxSessions: {
    variable: 'MCP_BRIDGE_MAX_SESSIONS',
    default: String(MAX_SESSIONS),
    meaning:
      'How many sessions may have a sandbox at once. Beyond that, the one that has been idle longest is saved and ends. Each may use `MCP_BRIDGE_MEMORY`.',
    allowed: `a whole number from 1 to ${SESSIONS_CEILING}`,
    check: wholeNumberWithin(DIGITS, { min: 1, max: SESSIONS_CEILING }),
  },
  checkpoint: {
    variable: 'MCP_BRIDGE_CHECKPOINT',
    default: 'auto',
    meaning:
      'When the state of a session is saved: `auto` after cells and before its sandbox ends, `idle` only before, `off` never.',
    allowed: 'auto, idle or off',
    check: oneOf(['auto', 'idle', 'off']),
  },
  prewarm: {
    variable: 'MCP_BRIDGE_PREWARM',
    default: '1',
    meaning:
      'How many sandboxes are kept ready for the next sessions, from shortly after the client has listed the tools. With `0`, the first cell of a session starts one.',
    allowed: 'a whole number from 0 to 16',
    check: wholeNumberWithin(readDigits(/^\d{1,2}$/), { min: 0, max: MAX_SESSIONS }),
  },
  prewarmImports: {
    variable: 'MCP_BRIDGE_PREWARM_IMPORTS',
    default: 'recent',
    meaning:
      'What these sandboxes import while they wait. `recent` imports the slow modules, such as pandas, that this client has used lately in this folder, if the image or `MCP_BRIDGE_PREINSTALL` has them.',
    allowed: `off, recent, or the names of at most ${MAX_MODULES_AHEAD} modules, separated by commas`,
    check: parsedBy(parsePrewarmImports),
  },
  prestart: {
    variable: 'MCP_BRIDGE_PRESTART',
    default: 'recent',
    meaning:
      'Which servers start before the first cell, once the client has listed the tools and stays connected. `recent` starts those that this client has used lately in this folder.',
    allowed: `off, recent, or the names of at most ${MAX_PRESTARTED} servers, separated by commas`,
    check: parsedBy(parsePrestart),
  },
  profile: {
    variable: 'MCP_BRIDGE_PROFILE',
    meaning:
      'A profile of `policy.json`: servers and tools outside of it do not exist for code. By default, code has all of them.',
    allowed: 'the name of a profile',
    check: textLike(/^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/),
  },
  pin: {
    variable: 'MCP_BRIDGE_PIN',
    default: 'warn',
    meaning:
      'What to do when a tool definition changes. `warn` reports the change; `strict` refuses calls until you accept it with `servers approve`.',
    allowed: 'off, warn or strict',
    check: oneOf(['off', 'warn', 'strict']),
  },
  masksSecrets: {
    variable: 'MCP_BRIDGE_MASK_SECRETS',
    default: 'on',
    meaning:
      "Whether to mask the secrets of a server's entry in everything the server sends. The bridge always masks them in its own messages.",
    allowed: 'on or off',
    check: onOrOff,
  },
  egress: {
    variable: 'MCP_BRIDGE_EGRESS',
    default: 'ask',
    meaning:
      'Hosts to which code may send requests: `entries`, those of entries with `egress`; `ask`, others, too, if the user allows it.',
    allowed: 'ask, entries or off',
    check: oneOf(['ask', 'entries', 'off']),
  },
  registry: {
    variable: 'MCP_BRIDGE_REGISTRY',
    meaning:
      'The MCP registry in which code and `servers find` look for new servers. By default, `servers find` asks the official one (https://registry.modelcontextprotocol.io), and code asks none, because its words leave the machine. With `off`, none is asked.',
    allowed: 'off, or the address of a registry with https: or http:, without /v0',
    check: parsedBy(parseRegistry),
  },
  catalogs: {
    variable: 'MCP_BRIDGE_CATALOGS',
    meaning:
      'Further lists of new servers: files of a Docker MCP catalog (YAML), saved answers of a registry (JSON), or folders with `server.json` files.',
    allowed: 'paths separated by commas; ~ is your home folder',
    check: (text) => partsOf(text, ',').filter((part) => part !== ''),
  },
  allowSelfServer: {
    variable: 'MCP_BRIDGE_ALLOW_SELF_SERVER',
    default: 'off',
    meaning: 'Whether to allow server entries that start this bridge again.',
    allowed: 'on or off',
    check: onOrOff,
  },
  packagesMinAgeMs: {
    variable: 'MCP_BRIDGE_PACKAGES_MIN_AGE',
    default: '168h',
    meaning: 'Files of packages that were uploaded more recently are not installed. `0` installs any.',
    allowed: 'a duration up to 8760h, such as 168h or 0',
    check: wholeNumberWithin(parseDurationMs, { min: 0, max: MAX_PACKAGE_AGE_MS }),
  },
  packagesMaxBytes: {
    variable: 'MCP_BRIDGE_PACKAGES_MAX_SIZE',
    default: '4g',
    meaning:
      'Maximum size of the package store, and of one installation. Beyond it, packages that no session uses are removed, the least recently used first. Over HTTP, each token can use half as much, and all tokens together as much again.',
    allowed: 'a size of at least 1m, such as 512m or 4g',
    check: wholeNumberWithin(parseSizeBytes, { min: MIN_PACKAGES_BYTES }),
  },
  packagesMaxAgeMs: {
    variable: 'MCP_BRIDGE_PACKAGES_MAX_AGE',
    default: '90d',
    meaning: 'Packages that no session has used for longer are removed from the store. `0` keeps them.',
    allowed: 'a duration up to 3650d, such as 90d or 0',
    check: wholeNumberWithin(parseDurationMs, { min: 0, max: MAX_UNUSED_MS }),
  },
  packagesStore: {
    variable: 'MCP_BRIDGE_PACKAGES_STORE',
    default: 'mcp-bridge-packages',
    meaning: 'Name of the volume of podman or docker that keeps installed packages.',
    allowed: 'a name of letters, digits, `.`, `_` and `-`',
    check: textLike(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/),
  },
  packagesNetwork: {
    variable: 'MCP_BRIDGE_PACKAGES_NETWORK',
    default: 'default',
    meaning:
      'Network of the sandbox that fetches packages. `host` reaches a package index on 127.0.0.1 of this machine.',
    allowed: 'default or host',
    check: oneOf(['default', 'host']),
  },
  logLevel: {
    variable: 'MCP_BRIDGE_LOG_LEVEL',
    default: 'INFO',
    meaning: 'Lowest level to log to stderr. For commands other than the server, the default is `WARNING`.',
    allowed: LOG_LEVELS.join(', '),
    check: (text) => oneOf(LOG_LEVELS)(LEVEL_ALIASES[text.toUpperCase()] ?? text),
  },
  live: {
    variable: 'MCP_BRIDGE_LIVE',
    default: 'on',
    meaning:
      'Whether `sessions top` and other programs of yours can watch the bridge, over a socket in the state directory.',
    allowed: 'on or off',
    check: onOrOff,
  },
  audit: {
    variable: 'MCP_BRIDGE_AUDIT',
    default: 'on',
    meaning:
      'Whether to record cells and calls in the audit log. With `required`, a cell or call that cannot be recorded is refused.',
    allowed: 'on, off or required',
    check: oneOf(['on', 'off', 'required']),
  },
  auditMaxBytes: {
    variable: 'MCP_BRIDGE_AUDIT_MAX_SIZE',
    default: '256m',
    meaning: 'Maximum total size of the audit log. Beyond it, the oldest files are deleted.',
    allowed: 'a size of at least 1m, such as 256m or 2g',
    check: wholeNumberWithin(parseSizeBytes, { min: MIN_AUDIT_BYTES }),
  },
  auditMaxAgeDays: {
    variable: 'MCP_BRIDGE_AUDIT_DAYS',
    default: '90',
    meaning: 'How many days to keep the audit log.',
    allowed: `a whole number from 1 to ${MAX_AUDIT_DAYS}`,
    check: wholeNumberWithin(DIGITS, { min: 1, max: MAX_AUDIT_DAYS }),
  },
  record: {
    variable: 'MCP_BRIDGE_RECORD',
    meaning:
      'A folder in which cells and calls are recorded with arguments and results, one file per bridge, to show with `history recording` and to replay without servers.',
    allowed: 'a path; ~ is your home folder',
    check: anyText,
  },
  otelContent: {
    variable: 'MCP_BRIDGE_OTEL_CONTENT',
    default: 'off',
    meaning:
      'Whether spans of OpenTelemetry have code, arguments, results and texts of errors. Secrets of server entries are masked.',
    allowed: 'on or off',
    check: onOrOff,
  },
  httpMaxRate: {
    variable: 'MCP_BRIDGE_HTTP_MAX_RATE',
    default: '200',
    meaning: 'Over HTTP, how many requests per second one token may send, on average over 5 seconds. `0` is no limit.',
    allowed: 'a whole number from 0 to 100000',
    check: wholeNumberWithin(DIGITS, { min: 0, max: 100_000 }),
  },
  httpMaxCells: {
    variable: 'MCP_BRIDGE_HTTP_MAX_CELLS',
    default: '64',
    meaning: 'Over HTTP, how many cells and programs of one token may run or wait at once.',
    allowed: 'a whole number from 1 to 10000',
    check: wholeNumberWithin(DIGITS, { min: 1, max: MAX_HTTP_COUNT }),
  },
  httpMaxStreams: {
    variable: 'MCP_BRIDGE_HTTP_MAX_STREAMS',
    default: '64',
    meaning: 'Over HTTP, how many requests and streams of one token may be open at once.',
    allowed: 'a whole number from 1 to 10000',
    check: wholeNumberWithin(DIGITS, { min: 1, max: MAX_HTTP_COUNT }),
  },
  httpMaxBodyBytes: {
    variable: 'MCP_BRIDGE_HTTP_MAX_BODY',
    default: '4m',
    meaning: 'Over HTTP, the maximum size of a request.',
    allowed: 'a size from 64k to 64m, such as 4m',
    check: wholeNumberWithin(parseSizeBytes, { min: 64 * 1024, max: 64 * 1024 ** 2 }),
  },
  httpOauthIssuer: {
    variable: 'MCP_BRIDGE_HTTP_OAUTH_ISSUER',
    meaning:
      'Over HTTP, accept access tokens of this OAuth or OpenID Connect issuer, besides those of `tokens add`. A token is then always required.',
    allowed: 'the address of an issuer with https:, exactly as in its metadata; on this machine also http:',
    check: parsedBy(readIssuer),
  },
  httpOauthAudience: {
    variable: 'MCP_BRIDGE_HTTP_OAUTH_AUDIENCE',
    meaning:
      'What the audience (`aud`) of these tokens must be, usually the address under which clients reach MCP. Several are separated by spaces; one is enough. Required with an issuer.',
    allowed: 'texts separated by spaces',
    check: parsedBy(readAudience),
  },
  httpOauthScopes: {
    variable: 'MCP_BRIDGE_HTTP_OAUTH_SCOPES',
    meaning: 'Scopes that each of these tokens must have, separated by spaces. By default, none is required.',
    allowed: 'scopes separated by spaces',
    check: parsedBy(readScopes),
  },
  kubectl: {
    variable: 'MCP_BRIDGE_KUBECTL',
    meaning: 'The `kubectl` that the kubernetes engine uses. By default, the first one on `PATH`.',
    allowed: 'an absolute path',
    check: textLike(/^(?:\/|[A-Za-z]:[\\/]).+$/),
  },
  kubernetesContext: {
    variable: 'MCP_BRIDGE_KUBERNETES_CONTEXT',
    meaning: 'The context of `kubectl`, which names the cluster. By default, the current one.',
    allowed: 'the name of a context',
    check: textLike(/^[^\s-]\S{0,252}$/),
  },
  kubernetesNamespace: {
    variable: 'MCP_BRIDGE_KUBERNETES_NAMESPACE',
    meaning: 'The namespace of the Pods. By default, that of the context.',
    allowed: 'the name of a namespace',
    check: textLike(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/),
  },
  kubernetesPullPolicy: {
    variable: 'MCP_BRIDGE_KUBERNETES_PULL_POLICY',
    meaning: 'When nodes pull the image. By default `IfNotPresent`, and `Never` if `MCP_BRIDGE_PULL` is `never`.',
    allowed: 'Always, IfNotPresent or Never',
    check: oneOf(['Always', 'IfNotPresent', 'Never']),
  },
  kubernetesPullSecrets: {
    variable: 'MCP_BRIDGE_KUBERNETES_PULL_SECRETS',
    meaning: 'Secrets of the namespace with which nodes log in to the registry of the image.',
    allowed: 'names separated by commas',
    check: parsedBy(parseNames),
  },
  kubernetesNodeSelector: {
    variable: 'MCP_BRIDGE_KUBERNETES_NODE_SELECTOR',
    meaning: 'Labels that a node must have to run sandboxes.',
    allowed: 'LABEL=VALUE, separated by commas, such as pool=sandboxes',
    check: parsedBy(parsePairs),
  },
  kubernetesTolerations: {
    variable: 'MCP_BRIDGE_KUBERNETES_TOLERATIONS',
    meaning: 'Taints of nodes that sandboxes tolerate.',
    allowed: 'KEY[=VALUE][:EFFECT], separated by commas, such as sandboxes=only:NoSchedule',
    check: parsedBy(parseTolerations),
  },
  kubernetesRuntimeClass: {
    variable: 'MCP_BRIDGE_KUBERNETES_RUNTIME_CLASS',
    meaning:
      'RuntimeClass of the Pods, such as one that runs them with gVisor or Kata. By default, the cluster chooses.',
    allowed: 'the name of a RuntimeClass',
    check: textLike(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/),
  },
  kubernetesAnnotations: {
    variable: 'MCP_BRIDGE_KUBERNETES_ANNOTATIONS',
    meaning: 'Annotations of the Pods, such as one that keeps a service mesh out of them.',
    allowed: 'KEY=VALUE, separated by commas, such as sidecar.istio.io/inject=false',
    check: parsedBy(parsePairs),
  },
  kubernetesWarmPool: {
    variable: 'MCP_BRIDGE_KUBERNETES_WARM_POOL',
    meaning: 'A SandboxWarmPool of agent-sandbox. Sandboxes come from it, as its template says.',
    allowed: 'the name of a SandboxWarmPool in the namespace',
    check: textLike(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/),
  },
  kubernetesOwner: {
    variable: 'MCP_BRIDGE_KUBERNETES_OWNER',
    meaning:
      'The Pod in which the bridge itself runs. The cluster deletes sandboxes with it. They are in its namespace.',
    allowed: 'NAMESPACE/NAME/UID',
    check: parsedBy(parseOwner),
  },
  kubernetesLocalServers: {
    variable: 'MCP_BRIDGE_KUBERNETES_LOCAL_SERVERS',
    default: 'off',
    meaning:
      "Whether a bridge in a Pod (`MCP_BRIDGE_KUBERNETES_OWNER`) starts local MCP servers. They could read the bridge's service-account token, which may enter every Pod of the namespace.",
    allowed: 'on or off',
    check: onOrOff,
  },
} satisfies Record<string, SettingDefinition>;

function partsOf(text: string, separator: string | RegExp): string[] {
  return text.split(separator).map((part) => part.trim());
}

function parseRegistry(text: string): string {
  if (/^(?:off|0|false|no)$/i.test(text)) {
    return 'off';
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!/^https?:$/.test(url?.protocol ?? '') || url?.search !== '' || url.username !== '') {
    throw new Error('it is not the address of a registry');
  }
  return text.replace(/\/+$/, '');
}

function parsePreinstalled(text: string): string[] {
  const requirements = partsOf(text, COMMAS_BETWEEN_PACKAGES);
  const wrong = requirements.find((part) => part.length > MAX_PREINSTALLED_CHARS || !PREINSTALLED.test(part));
  if (wrong !== undefined) {
    throw new Error(`${JSON.stringify(wrong)} is not a requirement`);
  }
  return requirements;
}

type Definitions = typeof DEFINITIONS;
type WithDefault = {
  [Key in keyof Definitions]: Definitions[Key] extends { default: string } ? Key : never;
}[keyof Definitions];

/** All settings, checked. Numbers have the unit in their name, and paths are absolute. */
export type Settings = Readonly<
  { [Key in WithDefault]: ReturnType<Definitions[Key]['check']> } & {
    [Key in Exclude<keyof Definitions, WithDefault>]?: ReturnType<Definitions[Key]['check']> | undefined;
  }
>;

/** The headings of the documentation, by the setting that comes first. */
const SECTIONS: Readonly<Record<string, string>> = {
  runtime: 'Everyday',
  tools: 'Answers and tools',
  image: 'Sandboxes and sessions',
  prestart: 'Servers and calls',
  packagesMinAgeMs: 'Packages',
  logLevel: 'Logs and records',
  httpMaxRate: 'HTTP',
  kubectl: 'Kubernetes',
} satisfies Partial<Record<keyof Definitions, string>>;

/** The table for the documentation. `default` is empty if there is none. */
export const SETTINGS_TABLE: readonly {
  /** The heading that comes before it. */
  readonly section: string | undefined;
  readonly variable: string;
  readonly default: string;
  readonly meaning: string;
  readonly allowed: string;
}[] = Object.entries<SettingDefinition>(DEFINITIONS).map(([key, definition]) => ({
  section: SECTIONS[key],
  variable: definition.variable,
  default: definition.default ?? '',
  meaning: definition.meaning,
  allowed: definition.allowed,
}));

/**
 * The settings of an environment, and of the file where it sets none. An empty variable counts as not set. Throws `CONFIG_INVALID`, which
 * names every invalid variable, its value and what is allowed. `machineBytes` is the memory that the bridge and its sandboxes can get.
 */
export function loadSettings(
  env: Environment,
  stored: StoredSettings = NOTHING_STORED,
  machineBytes = memoryOfMachine(),
): Settings {
  const texts = storedTexts(env, stored);
  const given = { ...env, ...texts };
  const inFile = (variable: string): boolean => texts[variable] !== undefined && stored.path !== '';
  const invalid: InvalidSetting[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, definition] of Object.entries<SettingDefinition>(DEFINITIONS)) {
    const text = textOf(given, definition);
    if (text !== undefined) {
      try {
        values[key] = definition.check(text);
      } catch (error) {
        const place = inFile(definition.variable) ? stored.path : undefined;
        invalid.push(describeRefusal(definition, text, place, error));
      }
    }
  }
  if (invalid.length > 0) {
    throw invalidSettings(invalid);
  }
  return finish(values as unknown as Settings, given, { machineBytes, inFile });
}

/** The values of the file that apply. */
export function storedTexts(env: Environment, { values }: StoredSettings): Record<string, string> {
  const applying = Object.values(DEFINITIONS).flatMap(({ variable }) => {
    const text = isGiven(env, variable) || isOfEnvironment(variable) ? undefined : values[variable];
    return text === undefined ? [] : [[variable, text] as const];
  });
  return Object.fromEntries(applying);
}

export function isGiven(env: Environment, variable: string): boolean {
  return (env[variable] ?? '').trim() !== '';
}

/** Whether only the environment can set it: the file is in the state directory. */
export function isOfEnvironment(variable: string): boolean {
  return variable === DEFINITIONS.stateDir.variable;
}

/** A container may get less than the machine has. */
function memoryOfMachine(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

interface InvalidSetting {
  readonly variable: string;
  readonly isInFile: boolean;
  /** What is wrong with the value, and what is allowed. */
  readonly reason: string;
  /** Its value, where that is, and the reason. */
  readonly sentence: string;
}

/** Throws what is not a refusal. `file` has the value, if the environment has not. */
function describeRefusal(
  { allowed, variable }: SettingDefinition,
  text: string,
  file: string | undefined,
  error: unknown,
): InvalidSetting {
  if (!(error instanceof RefusedText)) {
    throw error;
  }
  const why = escapeControls(cut(error.message, MAX_REASON_CHARS));
  const what = `${variable} is ${shown(text)}${file === undefined ? '' : ` in ${file}`}`;
  const reason = `allowed: ${allowed}.`;
  return {
    variable,
    isInFile: file !== undefined,
    reason: why === '' ? reason : `${why}; ${reason}`,
    sentence: `${what}${why === '' ? '' : ` (${why})`}; ${reason}`,
  };
}

const CORRECT_IN_ENV =
  'Correct or remove it where it is set, usually in the "env" of the entry that registers the bridge.';

function invalidSettings(invalid: readonly InvalidSetting[]): BridgeError {
  const sentences = invalid.map(({ sentence }) => sentence);
  const message =
    sentences.length === 1
      ? sentences.join()
      : `${sentences.length} settings are invalid:\n  ${sentences.join('\n  ')}`;
  return new BridgeError('CONFIG_INVALID', message, {
    data: {
      sentences,
      reasons: Object.fromEntries(invalid.map(({ reason, variable }) => [variable, reason])),
      inFile: invalid.filter((setting) => setting.isInFile).map(({ variable }) => variable),
    },
    hint: CORRECT_IN_ENV,
  });
}

/** Why `loadSettings` threw `error`, by variable; empty for any other error. */
export function refusedVariables({ data }: BridgeError): Readonly<Record<string, string>> {
  return (data['reasons'] as Readonly<Record<string, string>> | undefined) ?? {};
}

/** Whether variables or the file have something that is no setting; `describeUnknownVariables` says what. */
export function hasUnknownVariables(env: Environment, { others, values }: StoredSettings): boolean {
  const keys = [...Object.keys(env).filter((variable) => variable.startsWith(PREFIX)), ...Object.keys(values)];
  const isWrong = (key: string) => isOfEnvironment(key) && Object.hasOwn(values, key);
  return keys.some((key) => !isKnown(key) || isWrong(key)) || Object.keys(others).length > 0;
}

/** Whether it is a setting, or a variable that the bridge sets itself. */
export function isKnown(variable: string): boolean {
  return INTERNAL_VARIABLES.includes(variable) || SETTINGS_TABLE.some((setting) => setting.variable === variable);
}

/** Checks that involve two variables, adapts defaults, and makes paths absolute. */
function finish(
  settings: Settings,
  env: Environment,
  { inFile, machineBytes }: { readonly inFile: (variable: string) => boolean; readonly machineBytes: number },
): Settings {
  const { maxTimeoutSeconds, runtime } = settings;
  const isSet = (definition: SettingDefinition): boolean => textOf(env, { ...definition, default: '' }) !== '';
  const isMemoryScarce = runtime === 'kubernetes' || machineBytes < SMALL_MACHINE_BYTES;
  if (isSet(DEFINITIONS.timeoutSeconds) && settings.timeoutSeconds > maxTimeoutSeconds) {
    const { variable } = DEFINITIONS.timeoutSeconds;
    const most = `${DEFINITIONS.maxTimeoutSeconds.variable}, which is ${maxTimeoutSeconds} seconds`;
    const reason = `allowed: at most ${most}.`;
    const sentence = `${variable} is ${settings.timeoutSeconds} seconds; ${reason}`;
    throw invalidSettings([{ variable, isInFile: inFile(variable), reason, sentence }]);
  }
  return {
    ...settings,
    ...(isMemoryScarce && !isSet(DEFINITIONS.memoryBytes) && { memoryBytes: LITTLE_MEMORY_BYTES }),
    timeoutSeconds: Math.min(settings.timeoutSeconds, maxTimeoutSeconds),
    stateDir: toPath(settings.stateDir, env),
    configSources: settings.configSources.map((source): ConfigSource => {
      return source.kind === 'file' ? { kind: 'file', path: toPath(source.path, env) } : source;
    }),
    ...(settings.record !== undefined && { record: toPath(settings.record, env) }),
    ...(settings.toolbox !== undefined && { toolbox: settings.toolbox.map((path) => toPath(path, env)) }),
    ...(settings.catalogs !== undefined && { catalogs: settings.catalogs.map((path) => toPath(path, env)) }),
    ...(settings.serversConfig !== undefined && { serversConfig: toPath(settings.serversConfig, env) }),
  };
}

/** The state directory if no variable names another one. */
export function usualStateDir(env: Environment): string {
  return toPath(DEFINITIONS.stateDir.default, env);
}

/** The state directory, which has the file of settings. */
export function stateDirOf(env: Environment): string {
  return toPath(textOf(env, DEFINITIONS.stateDir) ?? '', env);
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
