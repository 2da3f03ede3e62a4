/** Finds the notifications that use a channel or a layout, which then cannot be deleted. */
import type { StoredMessage } from '../../core/configuration/nouns/notification.ts';
import { AppError } from '../../core/errors.ts';
import { fold } from '../../core/text/text.ts';
import {
  listNotificationsNamingChannels,
  listNotificationsNamingLayouts,
  type ReferencingNotification,
} from '../../db/configuration/references.ts';
import { listRows } from '../../db/configuration/rows.ts';
import type { Db } from '../../db/connection/pool.ts';

const maxListed = 20;

/** Throws `resource.in_use` if there are paths, and names the first. */
export function refuseIfUsed(object: string, paths: string[], by = 'notifications'): void {
  if (paths.length === 0) return;
  const more = paths.length > 1 ? ` and ${paths.length - 1} more` : '';
  throw new AppError('resource.in_use', `${object} is used by ${paths[0]}${more}: change those first`, {
    uses: { [by]: paths.slice(0, maxListed) },
  });
}

/** Returns the paths of notifications that name the channel by slug, or by type if it is the last one of that type. */
export async function findNotificationsUsingChannel(db: Db, organizationId: number, id: number): Promise<string[]> {
  const channels = await listRows(db, organizationId, 'channel');
  const own = channels.find(channel => channel.id === id);
  if (!own) return [];
  const mentions = await listNotificationsNamingChannels(db, organizationId, own.project_id, [own.slug, own.type]);
  const losesChannel = ({ project_id, channels: named, content }: ReferencingNotification) => {
    const { overrides = {}, variant } = contentOf(content) ?? {};
    const names = new Set([...named, ...Object.keys(overrides), ...Object.keys(variant?.overrides ?? {})]);
    const usable = channels.filter(channel => channel.project_id === null || channel.project_id === project_id);
    // A project's channel takes precedence over the organization's with the same slug.
    const hidden =
      own.project_id === null && usable.some(({ slug, project_id: of }) => slug === own.slug && of !== null);
    if (names.has(own.slug) && !hidden) return true;
    return names.has(own.type) && !usable.some(channel => channel.id !== id && channel.type === own.type);
  };
  return mentions.filter(losesChannel).map(mention => mention.path);
}

/** Returns the paths of notifications whose message names the layout. */
export async function findNotificationsUsingLayout(
  db: Db,
  organizationId: number,
  projectId: number | null,
  name: string,
): Promise<string[]> {
  const key = fold(name);
  const sameName = (await listRows(db, organizationId, 'layout')).filter(layout => layout.name_key === key);
  const mentions = await listNotificationsNamingLayouts(db, organizationId, projectId);
  return mentions
    .filter(({ content }) => fold(contentOf(content)?.message.layout ?? '') === key)
    .filter(({ project_id }) => projectId !== null || !sameName.some(layout => layout.project_id === project_id))
    .map(mention => mention.path);
}

function contentOf(content: unknown): StoredMessage | null {
  return content as StoredMessage | null;
}
