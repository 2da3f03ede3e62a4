/** Debian's Alertmanager, unpacked below node_modules once; nothing is installed. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fetchPackages } from '../../deploy/checks/mail-servers.ts';
import { root } from './process.ts';

/** Its templates have a fixed path, which only this program sees. */
const wrapper = `#!/bin/sh
home=$(dirname "$(dirname "$0")")/unpacked
exec unshare --mount --map-root-user sh -c 'mount --bind "$0/usr/share" /usr/share && exec "$0/usr/bin/prometheus-alertmanager" "$@"' "$home" "$@"
`;

/** Returns the folder of the programs `prometheus-alertmanager` and `amtool`, or why there is none. */
export async function installAlertmanager(): Promise<{ bin: string } | { missing: string }> {
  const home = path.join(root, 'node_modules/.cache/alertmanager');
  const bin = path.join(home, 'bin');
  if (existsSync(bin)) return { bin };
  await mkdir(path.dirname(home), { recursive: true });
  const fresh = await mkdtemp(`${home}-`);
  try {
    await fetchPackages(fresh, ['prometheus-alertmanager']);
    await mkdir(path.join(fresh, 'bin'));
    await writeFile(path.join(fresh, 'bin/prometheus-alertmanager'), wrapper, { mode: 0o755 });
    await symlink('../unpacked/usr/bin/amtool', path.join(fresh, 'bin/amtool'));
    await rename(fresh, home);
    return { bin };
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    return { missing: `Alertmanager cannot be fetched from Debian: ${(error as Error).message}` };
  }
}
