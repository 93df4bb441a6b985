/** Tables of `docs/clients.md` and `docs/internals/clients.md`, from the definitions in `src/edges/clients/table.ts`. */
import { CLIENT_IDS } from '../../src/edges/clients/client-ids.ts';
import { type ClientSystem, clientOf, usualFileOf } from '../../src/edges/clients/table.ts';
import { renderTable } from './tables.ts';

const SYSTEMS: readonly ClientSystem[] = [
  { platform: 'linux', home: '~', env: { XDG_CONFIG_HOME: '' } },
  { platform: 'darwin', home: '~', env: {} },
  { platform: 'win32', home: '%USERPROFILE%', env: { APPDATA: '%APPDATA%' } },
];

/** Where each client keeps its servers. */
export function renderClientFiles(): string {
  const rows = CLIENT_IDS.map((id) => {
    const client = clientOf(id);
    // A path that is the same on two systems appears once.
    const [linux = '', mac = '', windows = ''] = SYSTEMS.map((system) => usualFileOf(id, system));
    const places = linux === mac ? [`\`${linux}\``] : [`Linux \`${linux}\``, `macOS \`${mac}\``];
    const isSame = linux === mac && windows.replaceAll('\\', '/') === linux.replace('~', '%USERPROFILE%');
    const all = isSame ? places : [...places, `Windows \`${windows}\``];
    const project = client.projectFiles?.[0];
    return [
      client.title,
      `\`${id}\``,
      all.join('<br>'),
      project === undefined ? '–' : `\`${project}\``,
      `\`${client.keys.join('.')}\``,
      client.afterwards,
    ];
  });
  return renderTable(['Client', 'Name', 'File', 'File of a project', 'Key', 'Then'], rows);
}

/** Where the facts come from, and what could not be verified. */
export function renderClientSources(): string {
  const rows = CLIENT_IDS.map((id) => {
    const { title, source, seenIn, unverified } = clientOf(id);
    return [title, source.replace(/https:\S*[^\s,]/g, (url) => `<${url}>`), seenIn ?? '–', unverified ?? '–'];
  });
  return renderTable(['Client', 'Source', 'Seen in', 'Not checked'], rows);
}
