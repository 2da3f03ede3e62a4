/** What recipients read where they acknowledge: on the page behind `{{ acknowledge_url }}`, on buttons and in answers to them. By language. */
import { lookUp } from '../lookup.ts';
import { fillText, fold } from '../text/text.ts';

export interface AcknowledgeTexts {
  title: string;
  question: string;
  button: string;
  resolve: string;
  acknowledged: string;
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
  sampleHint: string;
}

const texts: Record<string, AcknowledgeTexts> = {
  en: {
    title: 'Acknowledge',
    question: '“{event}” from {name}: are you taking care of it? If you acknowledge it, no one else is alerted.',
    button: 'Acknowledge',
    resolve: 'Resolve',
    acknowledged: 'Acknowledged by {by} on {at}. No one else is alerted.',
    resolved: 'Resolved by {by} on {at}.',
    over: 'This alert is over. There is nothing left to do.',
    stale: 'This button no longer works. Nothing was changed.',
    taken: 'Done: {label}',
    notTaken: 'This could not be done: {reason}',
    unknownUser: 'Belfry does not recognize you, so nothing was changed. Ask your administrator to add you: {address}',
    nothingOpen: 'There is nothing to acknowledge.',
    sampleHint: 'In a real message, this link acknowledges the alert.',
  },
  de: {
    title: 'Übernehmen',
    question: '„{event}“ von {name}: Kümmern Sie sich darum? Dann wird niemand weiter alarmiert.',
    button: 'Übernehmen',
    resolve: 'Erledigt',
    acknowledged: 'Übernommen von {by} am {at}. Niemand wird weiter alarmiert.',
    resolved: 'Erledigt durch {by} am {at}.',
    over: 'Dieser Alarm ist beendet. Es ist nichts mehr zu tun.',
    stale: 'Dieser Knopf funktioniert nicht mehr. Es wurde nichts geändert.',
    taken: 'Erledigt: {label}',
    notTaken: 'Das war nicht möglich: {reason}',
    unknownUser:
      'Belfry kennt Sie nicht, deshalb wurde nichts geändert. Bitten Sie Ihren Administrator, Sie einzutragen: {address}',
    nothingOpen: 'Es gibt nichts zu übernehmen.',
    sampleHint: 'In einer verschickten Nachricht lässt sich mit diesem Link bestätigen, dass sich jemand kümmert.',
  },
  es: {
    title: 'Confirmar',
    question: '«{event}» de {name}: ¿se ocupa usted? Entonces no se avisará a nadie más.',
    button: 'Confirmar',
    resolve: 'Resolver',
    acknowledged: 'Confirmado por {by} el {at}. No se avisará a nadie más.',
    resolved: 'Resuelto por {by} el {at}.',
    over: 'Esta alerta ha terminado. No queda nada por hacer.',
    stale: 'Este botón ya no funciona. No se ha cambiado nada.',
    taken: 'Hecho: {label}',
    notTaken: 'No ha sido posible: {reason}',
    unknownUser: 'Belfry no le reconoce y no ha cambiado nada. Pida a su administrador que le añada: {address}',
    nothingOpen: 'No hay nada que confirmar.',
    sampleHint: 'En un mensaje enviado, este enlace lo confirma.',
  },
  fr: {
    title: 'Prendre en charge',
    question: '« {event} » de {name} : vous en occupez-vous ? Dans ce cas, personne d’autre n’est alerté.',
    button: 'Prendre en charge',
    resolve: 'Résoudre',
    acknowledged: 'Pris en charge par {by} le {at}. Personne d’autre n’est alerté.',
    resolved: 'Résolu par {by} le {at}.',
    over: 'Cette alerte est terminée. Il ne reste rien à faire.',
    stale: 'Ce bouton ne fonctionne plus. Rien n’a été modifié.',
    taken: 'Fait : {label}',
    notTaken: 'Cela n’a pas été possible : {reason}',
    unknownUser:
      'Belfry ne vous reconnaît pas, rien n’a été modifié. Demandez à votre administrateur de vous ajouter : {address}',
    nothingOpen: 'Il n’y a rien à prendre en charge.',
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
  resolved_at: Date | null;
  resolved_by: string | null;
}

/** Returns who acknowledged or resolved an occurrence and when; undefined if it is still open. */
export function describeAcknowledgement(
  locale: string | null | undefined,
  state: AcknowledgeState,
): string | undefined {
  const { acknowledged_at, acknowledged_by, resolved_at, resolved_by } = state;
  const language = languageOf(locale);
  const own = lookUp(texts, language)!;
  const at = (time: Date) =>
    new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'long', timeZone: 'UTC' }).format(time);
  if (resolved_at) return fillText(own.resolved, { by: resolved_by ?? '', at: at(resolved_at) });
  return acknowledged_at
    ? fillText(own.acknowledged, { by: acknowledged_by ?? '', at: at(acknowledged_at) })
    : undefined;
}

const replyWords = new Set([
  ...['1', 'ack', 'acknowledged', 'uebernehmen'],
  ...Object.values(texts).map(({ button }) => fold(button)),
]);

/** Whether a text message acknowledges: 1, ACK, or the label of the button in any language. */
export function isAcknowledgeReply(text: string): boolean {
  return text.length <= 100 && replyWords.has(fold(text.trim().replace(/[.!]+$/, '')));
}
