/** Texts of the component in each language. */
export interface InboxTexts {
  title: string;
  /** Label of the bell. */
  unread: (count: number) => string;
  arrived: (title: string) => string;
  all: string;
  onlyUnread: string;
  archived: string;
  filter: string;
  markAllRead: string;
  markRead: string;
  markUnread: string;
  archive: string;
  restore: string;
  more: string;
  close: string;
  retry: string;
  loading: string;
  empty: string;
  emptyUnread: string;
  emptyArchived: string;
  offline: string;
  failed: string;
  actionFailed: string;
  enablePush: string;
  pushOn: string;
  pushDenied: string;
}

const en: InboxTexts = {
  title: 'Notifications',
  unread: count => (count === 0 ? 'Notifications' : `Notifications, ${count} unread`),
  arrived: title => `New notification: ${title}`,
  all: 'All',
  onlyUnread: 'Unread',
  archived: 'Archived',
  filter: 'Show',
  markAllRead: 'Mark all as read',
  markRead: 'Mark as read',
  markUnread: 'Mark as unread',
  archive: 'Archive',
  restore: 'Move to inbox',
  more: 'Load more',
  close: 'Close',
  retry: 'Try again',
  loading: 'Loading…',
  empty: 'You’re all caught up',
  emptyUnread: 'No unread notifications',
  emptyArchived: 'No archived notifications',
  offline: 'You’re offline. New notifications will appear when you’re back online.',
  failed: 'Couldn’t load notifications.',
  actionFailed: 'That didn’t work. Try again.',
  enablePush: 'Notify me on this device',
  pushOn: 'Notifications are on for this device',
  pushDenied: 'Notifications are blocked in your browser settings',
};

const de: InboxTexts = {
  title: 'Benachrichtigungen',
  unread: count => (count === 0 ? 'Benachrichtigungen' : `Benachrichtigungen, ${count} ungelesen`),
  arrived: title => `Neue Benachrichtigung: ${title}`,
  all: 'Alle',
  onlyUnread: 'Ungelesen',
  archived: 'Archiviert',
  filter: 'Anzeigen',
  markAllRead: 'Alle als gelesen markieren',
  markRead: 'Als gelesen markieren',
  markUnread: 'Als ungelesen markieren',
  archive: 'Archivieren',
  restore: 'In den Posteingang',
  more: 'Mehr laden',
  close: 'Schließen',
  retry: 'Erneut versuchen',
  loading: 'Wird geladen …',
  empty: 'Alles gelesen',
  emptyUnread: 'Nichts Ungelesenes',
  emptyArchived: 'Nichts archiviert',
  offline: 'Sie sind offline. Neue Benachrichtigungen erscheinen, sobald Sie wieder verbunden sind.',
  failed: 'Benachrichtigungen können nicht geladen werden.',
  actionFailed: 'Das hat nicht geklappt. Versuchen Sie es erneut.',
  enablePush: 'Auf diesem Gerät benachrichtigen',
  pushOn: 'Benachrichtigungen sind auf diesem Gerät aktiv',
  pushDenied: 'Benachrichtigungen sind in den Browsereinstellungen blockiert',
};

const es: InboxTexts = {
  title: 'Notificaciones',
  unread: count => (count === 0 ? 'Notificaciones' : `Notificaciones, ${count} sin leer`),
  arrived: title => `Nueva notificación: ${title}`,
  all: 'Todas',
  onlyUnread: 'Sin leer',
  archived: 'Archivadas',
  filter: 'Mostrar',
  markAllRead: 'Marcar todo como leído',
  markRead: 'Marcar como leída',
  markUnread: 'Marcar como no leída',
  archive: 'Archivar',
  restore: 'Mover a la bandeja',
  more: 'Cargar más',
  close: 'Cerrar',
  retry: 'Reintentar',
  loading: 'Cargando…',
  empty: 'Estás al día',
  emptyUnread: 'Nada sin leer',
  emptyArchived: 'Nada archivado',
  offline: 'Sin conexión. Las notificaciones nuevas aparecerán cuando vuelvas a conectarte.',
  failed: 'No se pueden cargar las notificaciones.',
  actionFailed: 'No ha funcionado. Inténtalo de nuevo.',
  enablePush: 'Avisarme en este dispositivo',
  pushOn: 'Las notificaciones están activadas en este dispositivo',
  pushDenied: 'Las notificaciones están bloqueadas en los ajustes del navegador',
};

const fr: InboxTexts = {
  title: 'Notifications',
  unread: count => (count === 0 ? 'Notifications' : `Notifications, ${count} non lues`),
  arrived: title => `Nouvelle notification : ${title}`,
  all: 'Toutes',
  onlyUnread: 'Non lues',
  archived: 'Archivées',
  filter: 'Afficher',
  markAllRead: 'Tout marquer comme lu',
  markRead: 'Marquer comme lue',
  markUnread: 'Marquer comme non lue',
  archive: 'Archiver',
  restore: 'Remettre dans la boîte',
  more: 'Afficher plus',
  close: 'Fermer',
  retry: 'Réessayer',
  loading: 'Chargement…',
  empty: 'Vous êtes à jour',
  emptyUnread: 'Rien de non lu',
  emptyArchived: 'Rien d’archivé',
  offline: 'Vous êtes hors ligne. Les nouvelles notifications s’afficheront à votre retour.',
  failed: 'Impossible de charger les notifications.',
  actionFailed: 'Cela n’a pas fonctionné. Réessayez.',
  enablePush: 'M’avertir sur cet appareil',
  pushOn: 'Les notifications sont activées sur cet appareil',
  pushDenied: 'Les notifications sont bloquées dans les réglages du navigateur',
};

export const languages: Record<string, InboxTexts> = { en, de, es, fr };

/** Returns a tag that `Intl` accepts: pages and systems also write `en_US`, `de_DE.UTF-8` or `en-US@posix`. */
export function toLanguageTag(language: string): string {
  try {
    return Intl.getCanonicalLocales(language.split(/[.@]/)[0]!.replaceAll('_', '-'))[0] ?? 'en';
  } catch {
    return 'en';
  }
}

/** Returns the texts of a language, ignoring the region (`de-AT`). Default: English. */
export function textsFor(language: string): InboxTexts {
  return languages[toLanguageTag(language).split('-')[0]!] ?? en;
}
