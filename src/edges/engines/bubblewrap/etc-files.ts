/**
 * What a bubblewrap sandbox sees in /etc: what programs and Python packages in /usr read there, by name, and a few files of our own
 * instead of those that describe this machine. Whatever can hold a secret stays outside, even if everyone may read it: pip.conf,
 * gitconfig, odbc.ini, profiles, R's environment (passwords and tokens), openssl.cnf (the PIN of a key), ImageMagick's policy (the
 * secret of its cache), ssl/private, ssl/certs except the bundle (people put keys beside certificates), and sitecustomize.py (code
 * of this machine). OpenCL/vendors as well: pocl ends the process if it finds no memory in /sys, even one that only looks for devices.
 *
 * Made by importing and using 32 packages of Debian 12, with the files of /etc that they or their libraries install and without them.
 */
import { userAndGroup } from '../process-limits.ts';

/** Files and folders of this machine, each with its readers. One that is missing is left out. */
export const SHOWN_IN_ETC: Readonly<Record<string, string>> = {
  'ld.so.cache': 'the loader',
  'ld.so.conf': 'ctypes.util, ldconfig',
  'ld.so.conf.d': 'ctypes.util, ldconfig',
  alternatives: 'links in /usr, such as those of BLAS',
  localtime: 'local time',
  timezone: 'tzlocal: localtime is no link in a sandbox',
  'os-release': 'platform, distro',
  debian_version: 'distro',
  'mime.types': 'mimetypes',
  magic: 'libmagic',
  'magic.mime': 'libmagic',
  protocols: 'socket.getprotobyname',
  services: 'socket.getservbyname',
  'locale.alias': 'locale',
  terminfo: 'curses, readline',
  matplotlibrc: "Debian's matplotlib, which cannot be imported without it",
  fonts: 'fontconfig: matplotlib, Cairo, Pango',
  xml: 'libxml2: lxml',
  sgml: 'libxml2: lxml',
  'dictionaries-common/words': 'code that opens /usr/share/dict/words',
  'ssl/certs/ca-certificates.crt': 'certificates of authorities, on Debian: requests, httpx',
  'ssl/ca-bundle.pem': 'the same on openSUSE',
  'ssl/cert.pem': 'the same on Alpine and Arch',
  'pki/tls/certs/ca-bundle.crt': 'the same on Fedora',
  'pki/tls/cert.pem': 'the same on Fedora',
};

/** A file that the sandbox gets instead of the one of this machine. */
export interface OwnFile {
  readonly path: string;
  readonly text: string;
}

/**
 * Accounts as in a container: root and the sandbox's user. Without a network, also the only host; a builder sees the files of this
 * machine, which bwrap cannot mount over these.
 */
export function ownFiles(user: string, hasNetwork = false): readonly OwnFile[] {
  const [uid, gid] = userAndGroup(user);
  // As Debian and Fedora name 65534, or at least some name.
  const name = uid === '65534' ? 'nobody' : 'sandbox';
  const group = gid === '65534' ? 'nogroup' : 'sandbox';
  const files = {
    passwd: ['root:x:0:0:root:/root:/bin/sh', `${name}:x:${uid}:${gid}:${name}:/workspace:/bin/sh`],
    group: ['root:x:0:', `${group}:x:${gid}:`],
    ...(!hasNetwork && {
      hosts: ['127.0.0.1 localhost', '::1 localhost', '127.0.0.1 sandbox'],
      'nsswitch.conf': ['passwd', 'group', 'hosts', 'services', 'protocols'].map((one) => `${one}: files`),
    }),
  };
  return Object.entries(files).map(([file, lines]) => ({ path: `/etc/${file}`, text: `${lines.join('\n')}\n` }));
}
