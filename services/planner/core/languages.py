"""Everyday German and French words of work, each with its plain English one, and English words for days and states. A
dictionary: it decides nothing.
"""

from collections.abc import Mapping

_GERMAN_VERBS = """
genehmig approve | bewillig approve | freigeb approve | gib_frei approve | bestätig confirm | bezahl pay | zahl pay
| überweis pay | begleich pay | erstatt refund | stornier cancel | kündig terminate | widerruf revoke | entzieh
revoke | sperr block | entsperr unblock | deaktivier deactivate | aktivier activate | schließ close | lös resolve |
erledig resolve | benachrichtig notify | informier inform | schick send | send send | teil_mit notify | erinner
remind | mahn remind | meld report | erstell create | erzeug create | eröffn open | öffn open | leg_an create |
reich_ein submit | erfass record | verbuch record | buch book | vermerk note | lösch delete | entfern remove | änder
change | aktualisier update | setz set | erhöh increase | senk reduce | verringer reduce | verläng renew | verlänger
renew | verschieb move | verleg move | übertrag transfer | migrier migrate | wechsel migrate | stuf_hoch upgrade |
weis_zu assign | ordn_zu assign | gib_zurück return | nimm_zurück return | vergeb assign | erteil grant | gewähr
grant | lehn_ab reject | weis_ab reject | weis_zurück reject | heb_auf cancel | schalt_ab deactivate | eskalier
escalate | markier flag | kennzeichn flag | prüf check | lies read | zeig show | nenn list | list_auf list | find
find | such search | berechn calculate | gleich_ab reconcile | reservier reserve | bestell order | liefer deliver |
versend ship | plan schedule | storn cancel | schreib_ab write_off | antwort answer
| sag_bescheid notify | lass_wissen notify | übergib assign | übergeb assign | überreich assign
"""
_GERMAN_WORDS = """
der the | die the | das the | den the | dem the | des the | ein a | eine a | einen a | einem a | einer a | eines a |
und and | oder or | aber but | mit with | ohne without | für for | von of | vom of | zu to | zum to | zur to | an to |
auf to | bei at | über over | unter under | bis until | nach after | vor before | aus from | im in | in in | als as |
weil because | da because | denn because | wenn if | falls if | sofern if | nur only | nicht not | kein no | außer
except | ausser except | alle all | allen all | aller all | jeder every | jede every | jeden every | jedes every |
dann then | danach then | anschließend then | auch also | bitte please | ist is | sind are | war was | wurde was |
wurden were | hat has | dass that | er it | sie it | es it | ihn it | ihr its | ihre their | ihrer of_their | seine
its | seinen its | welche which | welcher which | welches which | wer who | was what | wie how | viele many | viel
much | hoch much | wann when | wo where | summe total | gesamtbetrag total | betrag amount | höhe amount | hälfte half
| voll full | voller full | vollen full | prozent percent | antworte answer | json-liste json_list | liste list | ids
ids | id id | kennung id | kennungen ids | status status | offen open | ausstehend pending | genehmigt approved |
abgelehnt rejected | bezahlt paid | überfällig overdue | aktiv active | storniert cancelled | geschlossen closed |
gelöst resolved | fehlend missing | fehlt missing | abgelaufen expired | fällig due | mehr more | weniger less |
mindestens at_least | höchstens at_most | spesenantrag expense_claim | spesenanträge expense_claims | spesenabrechnung
expense_claim | spesen expense | spesenbeleg expense_claim | antrag claim | anträge claims | rechnung invoice |
rechnungen invoices | bestellung order | bestellungen orders | auftrag order | aufträge orders | einkauf purchase |
kaufauftrag purchase_order | einkaufsbestellung purchase_order | beschaffungsauftrag purchase_order | lieferant vendor
| lieferanten vendor | kunde customer | kunden customer | kundin customer | mitarbeiter employee | mitarbeiterin
employee | mitarbeiters employee | angestellte employee | vertrag contract | verträge contracts | vorfall incident |
vorfälle incidents | störung incident | ticket ticket | tickets tickets | vermerk note | hinweis note | notiz note |
dringend urgent | noch still | abteilung department | haushalt budget | budget budget | erstattung refund | gutschrift
credit | forderung receivable | forderungen receivables | zahlung payment | zahlungen payments | abonnement
subscription | abo subscription | tarif plan | plätze seats | plätzen seats | zugang access | zugänge access | zugriff
access | zugriffsrecht access | zugriffsrechte access | gerät asset | geräte assets | ausrüstung asset | reklamation
dispute | streitfall dispute | widerspruch dispute | reservierung reservation | gehaltslauf payroll_run | lohnlauf
payroll_run | gehaltsabrechnung payslip | telefonnummer phone_number | nummer number | schweregrad severity | stufe
level | priorität priority | betreff subject | konto account | grund reason | duplikat duplicate | doppelte duplicate
| periode period | monat month | jahr year | tag day | tage days | name name | adresse address | artikel item |
produkt product | lager stock | wert value | preis price | differenz difference | zwischen between | neue new | neuen
new | neuer new | verwendet used | übrig left | verfügbar available | manager manager | vorgesetzter manager |
vorgesetzte manager | bestellwert order_total | zwei two | drei three | vier four | morgen tomorrow | übermorgen
tomorrow | heute today | sofort immediately | jetzt now | später later | bald soon | nächste next | nächsten next |
nächster next | nächstes next | kommende next | kommenden next | kommender next | kommendes next | woche week | wochen
weeks | montag monday | dienstag tuesday | mittwoch wednesday | donnerstag thursday | freitag friday | samstag
saturday | sonntag sunday | am on | sobald as_soon_as | nachdem after | solange as_long_as | bevor before | während
while | versandt shipped | verschickt shipped | geliefert delivered | eingegangen received | erhalten received |
ehemalig former | eingereicht submitted | abgeglichen matched | reise travel | enden end | endet ends | monate months
| dieser this | diese this | diesen this | dieses this | diesem this
"""
_FRENCH_VERBS = """
approuv approve | valid approve | autoris approve | accept accept | confirm confirm | pay pay | régl pay | rembours
refund | annul cancel | résili terminate | révoqu revoke | retir revoke | bloqu block | débloqu unblock | désactiv
deactivate | activ activate | ferm close | clôtur close | résou resolve | résolv resolve | résoud resolve | inform
inform | notifi notify | préven notify | prévien notify | avert notify | averti notify | envoi send | envoy send |
rappel remind | relanc remind | cré create | ouvr open | ajout add | soumet submit | enregistr record | not note |
supprim delete | chang change | modifi modify | met_à_jour update | augment increase | rédui reduce | baiss reduce |
renouvel renew | prolong renew | transfèr transfer | transfér transfer | migr migrate | attribu assign | affect
assign | assign assign | confi assign | accord grant | donn assign | rejet reject | rejett reject | refus reject |
déclin reject | escalad escalate | signal flag | marqu flag | vérifi check | montr show | affich show | list list |
trouv find | cherch search | calcul calculate | rapproch reconcile | réserv reserve | libèr release | libér release
| command order | expédi ship | planifi schedule | répond answer | rend return
"""
_FRENCH_WORDS = """
le the | la the | les the | l the | un a | une a | des the | du of_the | de of | d of | et and | ou or | mais but |
avec with | sans without | pour for | par by | à to | au to_the | aux to_the | sur on | sous under | dans in | en in
| comme as | parce because | car because | si if | seulement only | uniquement only | sauf except | tous all |
toutes all | tout all | toute all | chaque every | puis then | ensuite then | aussi also | est is | sont are | était
was | il it | elle it | ils they | elles they | ses their | son its | sa its | leur their | leurs their | quel which
| quelle which | quels which | quelles which | qui who | que that | combien how_many | quand when | où where | total
total | montant amount | somme total | moitié half | totalité full_amount | pour-cent percent | réponds answer |
répondez answer | liste list | json json | identifiants ids | identifiant id | statut status | ouvert open | ouverts
open | ouverte open | ouvertes open | attente pending | approuvé approved | approuvée approved | approuvées approved
| rejeté rejected | rejetée rejected | payé paid | payée paid | retard overdue | échu overdue | échue overdue |
échues overdue | actif active | actifs active | active active | annulé cancelled | fermé closed | manquant missing |
expiré expired | moins less | plus more | note note_of | frais expense | dépense expense | dépenses expenses |
facture invoice | factures invoices | commande order | commandes orders | achat purchase | fournisseur vendor |
fournisseurs vendors | client customer | cliente customer | clients customers | employé employee | employée employee
| salarié employee | salariée employee | contrat contract | contrats contracts | incident incident | incidents
incidents | ticket ticket | tickets tickets | service department | département department | budget budget |
remboursement refund | avoir credit | créance receivable | créances receivables | paiement payment | paiements
payments | abonnement subscription | forfait plan | places seats | accès access | matériel asset | équipement asset
| bien asset | litige dispute | réclamation dispute | réservation reservation | paie payroll | téléphone phone |
numéro number | gravité severity | priorité priority | objet subject | compte account | raison reason | motif reason
| doublon duplicate | période period | mois month | jour day | jours days | nom name | adresse address | article
item | produit product | stock stock | valeur value | prix price | différence difference | entre between | nouveau
new | nouvelle new | responsable manager | cette this | ce this | cet this | ces these | veuillez please | merci
please | svp please | jusqu until | moins less | urgent urgent | urgents urgent
| urgente urgent | urgentes urgent | encore still | demain tomorrow | bientôt soon | semaine week | semaines weeks |
lundi monday | mardi tuesday | mercredi wednesday | jeudi thursday | vendredi friday | samedi saturday | dimanche
sunday | soit is | soient are | expédié shipped | expédiée shipped | livré delivered | livrée delivered | reçu
received | reçue received | soumis submitted | voyage travel | voyages travel
"""

_PHRASES = r"""
wie viel (\w+) hat (\w+) noch:how much \1 does \2 have left | fait?e?s(-l[ea])? savoir à:notify |
combien de (\w+) reste-t-il [àp]o?u?r? (\w+):how much \1 does \2 have left |
inférieur à:less than | inférieure à:less than | supérieur à:more than | supérieure à:more than |
kleiner als:less than | geringer als:less than | größer als:more than | höher als:more than |
note de frais:expense claim | notes de frais:expense claims | bon de commande:purchase order | bons de
commande:purchase orders | bulletin de paie:payslip | numéro de téléphone:phone number | en attente:pending | en
retard:overdue | droit d'accès:access | en entier:in full | en totalité:in full | in voller höhe:in full | in vollem
umfang:in full | seit wann:when | wie hoch ist:how much is | wie viele:how many | wie viel:how much | stand der
dinge:status | offene posten:open receivables | semaine prochaine:next week | mois prochain:next month | plus
tard:later | après-demain:tomorrow | aujourd['’]hui:today | une fois que:as soon as | dès que:as soon as | après
que:after | avant que:before | tant que:as long as | à condition que:on condition that | pourvu que:provided | au cas
où:in case | gibt es:are there | combien de:how many | combien d['’]:how many | laufen (.+) aus:expire \1
| laufen (.+) ab:expire \1 | dans les (\d+) prochains jours:in the next \1 days | se terminent:end | expirent:expire
| dasselbe:the same | das ?selbe:the same | das gleiche:the same | la même chose:the same | pareil:the same
"""


def _parse_table(text: str) -> Mapping[str, str]:
    pairs = [entry.split() for entry in text.replace("\n", " ").split("|") if entry.strip()]
    return {pair[0]: pair[1].replace("_", " ") for pair in pairs}


GERMAN_VERBS, GERMAN_WORDS = _parse_table(_GERMAN_VERBS), _parse_table(_GERMAN_WORDS)
FRENCH_VERBS, FRENCH_WORDS = _parse_table(_FRENCH_VERBS), _parse_table(_FRENCH_WORDS)
PHRASES = {
    said.strip(): told.strip()
    for said, _, told in (one.partition(":") for one in _PHRASES.replace("\n", " ").split("|"))
}
ALSO_ENGLISH = frozenset("note signal command active".split())  # verbs of other languages by their spelling
SAME_DAY = (  # words for one day in the life of a thing
    "end expire expiry lapse".split(),
    "start begin commence".split(),
    "submit file claim hand".split(),
    "due deadline payable".split(),
    ["renew"],
)
UNTIL_THEN = "end due renew".split()  # days of which a thing that is over before has none
STANDING = (  # how a thing stands that is neither settled nor over
    "open pending unpaid outstanding active valid matched approved flagged unresolved running unsettled partial".split()
)
ENDED = (
    "paid settled closed cancelled canceled completed resolved rejected declined terminated expired ended refunded "
    "void voided archived withdrawn revoked reimbursed finished lapsed abandoned".split()
)
NO_STATES = (  # not how a thing stands by itself, but how its day does to today, or it does to other things
    "overdue late unpaid unsettled upcoming outdated duplicate duplicates identical alike similar equal unique".split()
)
