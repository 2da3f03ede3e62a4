/** Texts of the page behind `{{ acknowledge_url }}`, by language. */
export interface AcknowledgeTexts {
  title: string;
  question: string;
  button: string;
  acknowledged: string;
  resolved: string;
  sampleHint: string;
}

const texts: Record<string, AcknowledgeTexts> = {
  en: {
    title: 'Acknowledge',
    question: '“{event}” from {name}: are you taking care of it? If you acknowledge it, no one else is alerted.',
    button: 'Acknowledge',
    acknowledged: 'Acknowledged by {by} on {at}. No one else is alerted.',
    resolved: 'Resolved by {by} on {at}.',
    sampleHint: 'In a real message, this link acknowledges the alert.',
  },
  de: {
    title: 'Übernehmen',
    question: '„{event}“ von {name}: Kümmern Sie sich darum? Dann wird niemand weiter alarmiert.',
    button: 'Übernehmen',
    acknowledged: 'Übernommen von {by} am {at}. Niemand wird weiter alarmiert.',
    resolved: 'Erledigt durch {by} am {at}.',
    sampleHint: 'In einer verschickten Nachricht lässt sich mit diesem Link bestätigen, dass sich jemand kümmert.',
  },
  es: {
    title: 'Confirmar',
    question: '«{event}» de {name}: ¿se ocupa usted? Entonces no se avisará a nadie más.',
    button: 'Confirmar',
    acknowledged: 'Confirmado por {by} el {at}. No se avisará a nadie más.',
    resolved: 'Resuelto por {by} el {at}.',
    sampleHint: 'En un mensaje enviado, este enlace lo confirma.',
  },
  fr: {
    title: 'Prendre en charge',
    question: '« {event} » de {name} : vous en occupez-vous ? Dans ce cas, personne d’autre n’est alerté.',
    button: 'Prendre en charge',
    acknowledged: 'Pris en charge par {by} le {at}. Personne d’autre n’est alerté.',
    resolved: 'Résolu par {by} le {at}.',
    sampleHint: 'Dans un message envoyé, ce lien le prend en charge.',
  },
};

export function acknowledgeTextsIn(language: string): AcknowledgeTexts {
  return texts[language] ?? texts.en!;
}
