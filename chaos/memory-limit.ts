/** Limits the memory of processes with a control group, where this user may create one. */
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { Skipped } from './scenario.ts';

export interface MemoryLimit {
  /** The command before the program, which joins the group. */
  prefix: string[];
  /** Returns the maximum that the processes have used together, in MB. */
  peakMb(): Promise<number>;
  /** Removes the group, whose processes must have ended. */
  remove(): Promise<void>;
}

/** Version 2 has one hierarchy, version 1 one for each resource. Version 2 limits swap separately. */
const versions = [
  { root: '/sys/fs/cgroup', limit: 'memory.max', peak: 'memory.peak', isUnified: true },
  {
    root: '/sys/fs/cgroup/memory',
    limit: 'memory.limit_in_bytes',
    peak: 'memory.max_usage_in_bytes',
    isUnified: false,
  },
];
/** Opens only files that exist: in a folder that is no control group, a new file would limit nothing. */
const existing = { flag: 'r+' };

export async function limitMemory(mb: number): Promise<MemoryLimit> {
  for (const { root, limit, peak, isUnified } of versions) {
    const folder = `${root}/belfry-chaos-${process.pid}`;
    try {
      if (isUnified) await writeFile(`${root}/cgroup.subtree_control`, '+memory', existing);
      await mkdir(folder);
      await writeFile(`${folder}/${limit}`, String(mb * 1024 * 1024), existing);
      if (isUnified) await writeFile(`${folder}/memory.swap.max`, '0', existing);
    } catch {
      await rmdir(folder).catch(() => {});
      continue;
    }
    return {
      prefix: ['sh', '-c', 'echo $$ > "$0" && exec "$@"', `${folder}/cgroup.procs`],
      peakMb: async () => Math.round(Number(await readFile(`${folder}/${peak}`, 'utf8')) / 1024 / 1024),
      remove: () => rmdir(folder),
    };
  }
  throw new Skipped('this user may not create a control group with a memory limit');
}
