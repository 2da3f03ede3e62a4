/** Which notifications need a channel or a layout: as long as one does, it stays. */
import type { StoredMessage } from '../core/configuration/state.ts';
import { AppError } from '../core/errors.ts';
import { fold } from '../core/text.ts';
import { listAllChannels } from '../db/channels.ts';
import { listAllLayouts } from '../db/layouts.ts';
import type { Db } from '../db/pool.ts';
import { listChannelMentions, listLayoutMentions, type Mention } from '../db/uses.ts';

const mostNamed = 20;

/** Throws `resource.in_use` naming the first of them. */
export function refuseUsed(what: string, paths: string[]): void {
  if (paths.length === 0) return;
  const notifications = paths.slice(0, mostNamed);
  const more = paths.length > 1 ? ` and ${paths.length - 1} more` : '';
  throw new AppError('resource.in_use', `${what} is named by ${paths[0]}${more}: change those first`, {
    uses: { notifications },
  });
}

/** Paths of the notifications that would lose a channel: by its slug, or as the last one of its type. */
export async function findChannelUses(db: Db, organizationId: number, id: number): Promise<string[]> {
  const channels = await listAllChannels(db, organizationId);
  const own = channels.find(channel => channel.id === id);
  if (!own) return [];
  const mentions = await listChannelMentions(db, organizationId, own.project_id, [own.slug, own.type]);
  const loses = ({ project_id, channels: named, content }: Mention) => {
    const names = new Set([...named, ...Object.keys(contentOf(content)?.overrides ?? {})]);
    const usable = channels.filter(channel => channel.project_id === null || channel.project_id === project_id);
    // The project's own of the same slug stands before the organization's.
    const hidden =
      own.project_id === null && usable.some(({ slug, project_id: of }) => slug === own.slug && of !== null);
    if (names.has(own.slug) && !hidden) return true;
    return names.has(own.type) && !usable.some(channel => channel.id !== id && channel.type === own.type);
  };
  return mentions.filter(loses).map(mention => mention.path);
}

/** Paths of the notifications whose message stands in it by name. */
export async function findLayoutUses(
  db: Db,
  organizationId: number,
  projectId: number | null,
  name: string,
): Promise<string[]> {
  const key = fold(name);
  const hiding = (await listAllLayouts(db, organizationId)).filter(layout => layout.name_key === key);
  const mentions = await listLayoutMentions(db, organizationId, projectId);
  return mentions
    .filter(({ content }) => fold(contentOf(content)?.message.layout ?? '') === key)
    .filter(({ project_id }) => projectId !== null || !hiding.some(layout => layout.project_id === project_id))
    .map(mention => mention.path);
}

function contentOf(content: unknown): StoredMessage | null {
  return content as StoredMessage | null;
}
