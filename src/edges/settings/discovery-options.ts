/** Where to look for servers, according to the settings. */
import type { DiscoveryOptions } from '../servers/discover.ts';
import { loadSources, thisSystem } from '../servers/sources.ts';
import { type Settings, usualStateDir } from './settings.ts';

export async function discoveryOptionsOf(settings: Settings): Promise<DiscoveryOptions> {
  return {
    stateDir: settings.stateDir,
    usualDir: usualStateDir(process.env),
    extraFile: settings.serversConfig,
    sources: await loadSources(settings.configSources, thisSystem(process.env)),
    env: process.env,
    allowsSelf: settings.allowSelfServer,
  };
}
