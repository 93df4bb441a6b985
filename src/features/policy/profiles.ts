/**
 * Profiles: named subsets of servers and tools, in `profiles` of `policy.json`. For whoever uses a profile, nothing else exists:
 * servers are left out where they are discovered, tools where they are listed, and a gate refuses calls in the words for unknown
 * tools. This differs from a rule that denies, which says so.
 */
import { BridgeError } from '../../core/base/errors.ts';
import { type CallGate, failed } from '../../core/calls/contract.ts';
import type { KnownTool, ServerMetadata } from '../../core/catalog/known.ts';
import { assignAliases } from '../../core/catalog/names.ts';
import type { MetadataSource } from '../../core/directory/server-metadata.ts';
import { createPolicyFile, type PolicyFile } from './policy-file.ts';
import type { PolicyServer, PolicyTool } from './rules/policy-call.ts';
import { type ProfileRule, readPolicy } from './rules/schema.ts';
import { namesTool, selectsServer } from './rules/selectors.ts';

export interface Profile {
  hasServer(name: string): boolean;
  hasTool(server: PolicyServer, tool: PolicyTool): boolean;
}

/** A profile as of now: the same object until `policy.json` changes; undefined if it is not defined or the file is invalid. */
export type CurrentProfile = () => Profile | undefined;

/**
 * That of the settings, and of it only the servers that match one of `servers`; undefined if neither is given, for everything.
 */
export function createCurrentProfile(
  { profile: name, stateDir }: { readonly profile?: string | undefined; readonly stateDir: string },
  servers?: readonly string[],
): CurrentProfile | undefined {
  const find = createProfiles(stateDir);
  const ofSettings = name === undefined ? undefined : () => find(name);
  if (servers === undefined) {
    return ofSettings;
  }
  const only = compile({ servers: [...servers] });
  return ofSettings === undefined ? () => only : intersect(ofSettings, only);
}

/** What is in both. The same object until the first changes. */
function intersect(current: CurrentProfile, only: Profile): CurrentProfile {
  let last: { readonly of: Profile; readonly both: Profile } | undefined;
  return () => {
    const of = current();
    if (of === undefined) {
      return undefined;
    }
    if (last?.of !== of) {
      const both: Profile = {
        hasServer: (server) => of.hasServer(server) && only.hasServer(server),
        hasTool: (server, tool) => of.hasTool(server, tool) && only.hasTool(server, tool),
      };
      last = { of, both };
    }
    return last.both;
  };
}

export function createProfiles(stateDir: string): (name: string) => Profile | undefined {
  const readFile = createPolicyFile(stateDir);
  let known: PolicyFile | undefined;
  let profiles: ReadonlyMap<string, Profile> = new Map();
  return (name) => {
    const file = readFile();
    if (file !== known) {
      known = file;
      profiles = file === undefined ? new Map() : readProfiles(file);
    }
    return profiles.get(name);
  };
}

function readProfiles(file: PolicyFile): Map<string, Profile> {
  const read = 'value' in file ? readPolicy(file.value, file.file) : undefined;
  const rules = read !== undefined && 'policy' in read ? (read.policy.profiles ?? {}) : {};
  return new Map(Object.entries(rules).map(([name, rule]) => [name, compile(rule)]));
}

function compile({ servers, tools }: ProfileRule): Profile {
  const hasServer = (name: string): boolean => selectsServer({ server: servers }, { name, alias: name });
  return {
    hasServer,
    // `server.tool` must not be the name of a tool of another server.
    hasTool: (server, tool) =>
      hasServer(server.name) &&
      (tools === undefined || tools.some((pattern) => namesTool(pattern, { isQualified: true }, server, tool))),
  };
}

/** The metadata of servers without the tools that the profile leaves out; the same source without a profile. */
export function inProfile(
  source: MetadataSource,
  current: CurrentProfile | undefined,
  servers: () => readonly PolicyServer[],
): MetadataSource {
  return current === undefined ? source : narrowed(source, current, servers);
}

function narrowed(
  source: MetadataSource,
  current: CurrentProfile,
  servers: () => readonly PolicyServer[],
): MetadataSource {
  /** What was made of which metadata. */
  const made = new WeakMap<
    ServerMetadata,
    { readonly profile: Profile | undefined; readonly metadata: ServerMetadata }
  >();
  const originals = new WeakMap<ServerMetadata, ServerMetadata>();

  function narrow(name: string, metadata: ServerMetadata): ServerMetadata {
    const profile = current();
    const before = made.get(metadata);
    if (before !== undefined && before.profile === profile) {
      return before.metadata;
    }
    const server = servers().find((one) => one.name === name) ?? { name, alias: name };
    const { tools } = metadata;
    const aliases = assignAliases(tools.map((tool) => tool.name));
    const has = (tool: KnownTool, index: number): boolean =>
      profile?.hasTool(server, { ...tool, alias: aliases[index] ?? tool.name }) === true;
    const left = { ...metadata, tools: tools.filter(has) };
    made.set(metadata, { profile, metadata: left });
    originals.set(left, metadata);
    return left;
  }

  return {
    async kept(server) {
      const metadata = await source.kept(server);
      return metadata && narrow(server.name, metadata);
    },
    current: async (server, signal) => narrow(server.name, await source.current(server, signal)),
    review: async (server, given) => narrow(server.name, await source.review(server, originals.get(given) ?? given)),
    flush: () => source.flush(),
  };
}

/** Refuses what the profile leaves out: resources and prompts, and tools since the profile has changed. */
export function createProfileGate(current: CurrentProfile): CallGate {
  return (call, next) => {
    const { server, tool } = call;
    if (current()?.hasTool(server, tool) === true) {
      return next(call);
    }
    const error =
      tool.isMethod === true
        ? new BridgeError('CAPABILITY_MISSING', `server '${server.name}' offers no ${tool.name.split('/')[0]}`)
        : new BridgeError('TOOL_UNKNOWN', `server '${server.name}' has no tool '${tool.name}'`);
    return Promise.resolve(failed(error));
  };
}
