/** What recipients read where they acknowledge: on the page behind `{{ acknowledge_url }}`, on buttons and in answers to them. By language. */
import { lookUp } from '../lookup.ts';
import { fillText, fold } from '../text/text.ts';

export interface AcknowledgeTexts {
  title: string;
  question: string;
  button: string;
  /** For a message about several alerts. */
  acknowledgeAll: string;
  /** What such a message is about, with `{count}`. */
  alerts: string;
  /** What acknowledging all has done, with `{count}` and `{total}`. */
  acknowledgedAll: string;
  /** The same while it goes on. */
  acknowledgedSome: string;
  resolve: string;
  /** A button that snoozes for an hour. */
  snooze: string;
  acknowledged: string;
  /** Acknowledged by this recipient alone, with `{missing}`. */
  acknowledgedAlone: string;
  /** Acknowledged until a time. */
  snoozed: string;
  resolved: string;
  /** The occurrence was cancelled, or has been deleted. */
  over: string;
  /** The button is of another installation or channel, or of a time before its keys changed. */
  stale: string;
  /** An action of the message was taken. */
  taken: string;
  notTaken: string;
  unknownUser: string;
  nothingOpen: string;
  /** The address of the chat that a person wrote in. */
  addressHere: string;
  sampleHint: string;
}

const texts: Record<string, AcknowledgeTexts> = {
  en: {
    title: 'Acknowledge',
    question: '“{event}” from {name}: are you taking care of it? If you acknowledge it, no one else is alerted.',
    button: 'Acknowledge',
    acknowledgeAll: 'Acknowledge all',
    alerts: '{count} alerts',
    acknowledgedAll: '{count} of {total} alerts were open and are acknowledged now. No one else is alerted.',
    acknowledgedSome:
      '{count} of {total} alerts are acknowledged so far. The others follow; if some stay open, acknowledge again.',
    resolve: 'Resolve',
    snooze: 'Snooze 1 h',
    snoozed: 'Snoozed by {by} until {at}. No one else is alerted until then.',
    acknowledged: 'Acknowledged by {by} on {at}. No one else is alerted.',
    acknowledgedAlone: 'You have acknowledged it. Missing: {missing}.',
    resolved: 'Resolved by {by} on {at}.',
    over: 'This alert is over. There is nothing left to do.',
    stale: 'This button no longer works. Nothing was changed.',
    taken: 'Done: {label}',
    notTaken: 'This could not be done: {reason}',
    unknownUser: 'Belfry does not recognize you, so nothing was changed. Ask your administrator to add you: {address}',
    nothingOpen: 'There is nothing to acknowledge.',
    addressHere: 'Belfry sends messages to this chat if its address is: {address}',
    sampleHint: 'In a real message, this link acknowledges the alert.',
  },
  de: {
    title: 'Übernehmen',
    question: '„{event}“ von {name}: Kümmern Sie sich darum? Dann wird niemand weiter alarmiert.',
    button: 'Übernehmen',
    acknowledgeAll: 'Alle übernehmen',
    alerts: '{count} Alarme',
    acknowledgedAll:
      '{count} von {total} Alarmen waren offen und sind jetzt übernommen. Niemand wird weiter alarmiert.',
    acknowledgedSome:
      'Bisher sind {count} von {total} Alarmen übernommen. Die anderen folgen; bleiben welche offen, übernehmen Sie noch einmal.',
    resolve: 'Erledigt',
    snooze: '1 h zurückstellen',
    snoozed: 'Zurückgestellt von {by} bis {at}. Bis dahin wird niemand weiter alarmiert.',
    acknowledged: 'Übernommen von {by} am {at}. Niemand wird weiter alarmiert.',
    acknowledgedAlone: 'Sie haben bestätigt. Es fehlen: {missing}.',
    resolved: 'Erledigt durch {by} am {at}.',
    over: 'Dieser Alarm ist beendet. Es ist nichts mehr zu tun.',
    stale: 'Dieser Knopf funktioniert nicht mehr. Es wurde nichts geändert.',
    taken: 'Erledigt: {label}',
    notTaken: 'Das war nicht möglich: {reason}',
    unknownUser:
      'Belfry kennt Sie nicht, deshalb wurde nichts geändert. Bitten Sie Ihren Administrator, Sie einzutragen: {address}',
    nothingOpen: 'Es gibt nichts zu übernehmen.',
    addressHere: 'Belfry schickt Nachrichten in diesen Chat, wenn dies die Adresse ist: {address}',
    sampleHint: 'In einer verschickten Nachricht lässt sich mit diesem Link bestätigen, dass sich jemand kümmert.',
  },
  es: {
    title: 'Confirmar',
    question: '«{event}» de {name}: ¿se ocupa usted? Entonces no se avisará a nadie más.',
    button: 'Confirmar',
    acknowledgeAll: 'Confirmar todas',
    alerts: '{count} alertas',
    acknowledgedAll:
      '{count} de {total} alertas estaban abiertas y ahora están confirmadas. No se avisará a nadie más.',
    acknowledgedSome:
      'Hasta ahora se han confirmado {count} de {total} alertas. Las demás siguen; si alguna queda abierta, confirme de nuevo.',
    resolve: 'Resolver',
    snooze: 'Posponer 1 h',
    snoozed: 'Pospuesto por {by} hasta el {at}. Hasta entonces no se avisará a nadie más.',
    acknowledged: 'Confirmado por {by} el {at}. No se avisará a nadie más.',
    acknowledgedAlone: 'Usted lo ha confirmado. Faltan: {missing}.',
    resolved: 'Resuelto por {by} el {at}.',
    over: 'Esta alerta ha terminado. No queda nada por hacer.',
    stale: 'Este botón ya no funciona. No se ha cambiado nada.',
    taken: 'Hecho: {label}',
    notTaken: 'No ha sido posible: {reason}',
    unknownUser: 'Belfry no le reconoce y no ha cambiado nada. Pida a su administrador que le añada: {address}',
    nothingOpen: 'No hay nada que confirmar.',
    addressHere: 'Belfry envía mensajes a este chat si la dirección es: {address}',
    sampleHint: 'En un mensaje enviado, este enlace lo confirma.',
  },
  fr: {
    title: 'Prendre en charge',
    question: '« {event} » de {name} : vous en occupez-vous ? Dans ce cas, personne d’autre n’est alerté.',
    button: 'Prendre en charge',
    acknowledgeAll: 'Tout prendre en charge',
    alerts: '{count} alertes',
    acknowledgedAll:
      '{count} alertes sur {total} étaient ouvertes et sont maintenant prises en charge. Personne d’autre n’est alerté.',
    acknowledgedSome:
      '{count} alertes sur {total} sont prises en charge pour l’instant. Les autres suivent ; s’il en reste, recommencez.',
    resolve: 'Résoudre',
    snooze: 'Reporter d’1 h',
    snoozed: 'Reporté par {by} jusqu’au {at}. D’ici là, personne d’autre n’est alerté.',
    acknowledged: 'Pris en charge par {by} le {at}. Personne d’autre n’est alerté.',
    acknowledgedAlone: 'Vous avez confirmé. Il manque : {missing}.',
    resolved: 'Résolu par {by} le {at}.',
    over: 'Cette alerte est terminée. Il ne reste rien à faire.',
    stale: 'Ce bouton ne fonctionne plus. Rien n’a été modifié.',
    taken: 'Fait : {label}',
    notTaken: 'Cela n’a pas été possible : {reason}',
    unknownUser:
      'Belfry ne vous reconnaît pas, rien n’a été modifié. Demandez à votre administrateur de vous ajouter : {address}',
    nothingOpen: 'Il n’y a rien à prendre en charge.',
    addressHere: 'Belfry envoie ses messages dans cette discussion si l’adresse est : {address}',
    sampleHint: 'Dans un message envoyé, ce lien le prend en charge.',
  },
};

/** Returns the texts for a locale such as `de` or `pt-BR`: English for a language without texts. */
export function acknowledgeTextsIn(locale: string | null | undefined): AcknowledgeTexts {
  return lookUp(texts, languageOf(locale))!;
}

function languageOf(locale: string | null | undefined): string {
  const [language = ''] = (locale ?? '').toLowerCase().split(/[-_]/, 1);
  return Object.hasOwn(texts, language) ? language : 'en';
}

export interface AcknowledgeState {
  acknowledged_at: Date | null;
  acknowledged_by: string | null;
  /** When the acknowledgement ends; null: it does not. */
  acknowledged_until: Date | null;
  /** Null: it is not snoozed. */
  snoozed_by: string | null;
  resolved_at: Date | null;
  resolved_by: string | null;
  /** With `ack: each`, the first of those recipients who have yet to acknowledge, and how many they are. */
  missing?: readonly string[];
  missing_count?: number;
}

/** Returns who acknowledged, snoozed or resolved an occurrence and when; undefined if it is still open. */
export function describeAcknowledgement(
  locale: string | null | undefined,
  state: AcknowledgeState,
): string | undefined {
  const { acknowledged_at, acknowledged_by, acknowledged_until, snoozed_by, resolved_at, resolved_by } = state;
  const language = languageOf(locale);
  const own = lookUp(texts, language)!;
  const at = (time: Date) =>
    new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'long', timeZone: 'UTC' }).format(time);
  if (resolved_at) return fillText(own.resolved, { by: resolved_by ?? '', at: at(resolved_at) });
  if (snoozed_by !== null && acknowledged_until) {
    return fillText(own.snoozed, { by: snoozed_by, at: at(acknowledged_until) });
  }
  const { missing = [], missing_count = missing.length } = state;
  if (missing.length > 0) return fillText(own.acknowledgedAlone, { missing: nameSome(missing, missing_count) });
  return acknowledged_at
    ? fillText(own.acknowledged, { by: acknowledged_by ?? '', at: at(acknowledged_at) })
    : undefined;
}

const maxNamed = 5;

/** Returns the first names, and how many others there are. */
export function nameSome(users: readonly string[], count: number): string {
  const named = users.slice(0, maxNamed).join(', ');
  return count > maxNamed ? `${named}, +${count - maxNamed}` : named;
}

const replyWords = new Set([
  ...['1', 'ack', 'acknowledged', 'uebernehmen'],
  ...Object.values(texts).map(({ button }) => fold(button)),
]);

/** Whether a text message acknowledges: 1, ACK, or the label of the button in any language. */
export function isAcknowledgeReply(text: string): boolean {
  return text.length <= 100 && replyWords.has(fold(text.trim().replace(/[.!]+$/, '')));
}
