"""The word lists of the privacy guard, in lower case and singular."""

# What is protected, by group (seeds 000 and 003), as words in a row; the last one may stand in the plural.
TERMS_BY_GROUP: dict[str, tuple[str, ...]] = {
    "credentials": (
        "password", "passwd", "passphrase", "passcode", "credential", "login detail", "api key", "apikey", "secret key",
        "private key", "access key", "access token", "auth token", "api token", "client secret", "api secret",
        "encryption key", "ssh key", "pin code",
    ),
    "government ids": (
        "ssn", "social security number", "social security no", "social security", "national id",
        "national identification number", "national insurance number", "passport number", "taxpayer id",
        "personal tax id", "driver license number", "driving licence number", "driver's license number",
    ),
    "payment data": (
        "credit card number", "debit card number", "card number", "credit card", "debit card", "credit card detail",
        "debit card detail", "card detail", "full card", "cvv", "cvc", "card security code", "bank account number",
        "bank account", "bank detail", "routing number", "card pin", "full pan",
    ),
    "health data": (
        "medical record", "health record", "medical history", "medical file", "patient record", "patient file",
        "phi", "personal health information", "protected health information", "diagnosis", "diagnoses",
        "prescription", "health information", "medical information",
    ),
    "confidential information": (
        "private information", "private customer information", "private data", "confidential information",
        "confidential data", "confidential company information", "confidential company knowledge", "trade secret",
        "internal operation data", "restricted financial data", "sensitive personal data", "sensitive information",
        "sensitive data", "proprietary information", "internal-only information", "internal-only document",
        "internal-only roadmap", "internal-only data",
    ),
    "personal data": (
        "home address", "personal address", "private address", "date of birth", "dates of birth", "dob",
        "birth date", "birthdate",
        "personal phone number", "private phone number", "home phone number", "personal data", "personal information",
        "personal detail",
    ),
}  # fmt: skip
# Of these a business moves the thing itself: handing one over means that it is shown, or sent to whoever asks.
MOVABLE_THINGS = frozenset({"prescription", "credit card", "debit card", "bank account", "national id"})
SHOW_WORDS = frozenset("show list give tell reveal disclose export leak publish print display expose dump what".split())
# Verbs that hand something over; whoever is asked for data is asked with one of these.
DISCLOSING_VERBS = frozenset(
    """
    send email e-mail mail share show list give tell reveal disclose export dump print display provide forward post
    publish leak extract retrieve fetch get return output supply download expose read hand text sms message report
    find look pull grab collect gather harvest steal obtain need want say recite compile crack hack exfiltrate recover
    spill tweet know see view release divulge surrender furnish enumerate scrape decrypt unmask search
    """.split()
)
# Somebody else's asking is told, not done: "a mail asks users to share their passwords".
WORDS_OF_REPORTED_REQUESTS = frozenset(
    "asks asked asking tricks tricked trying tried urges urged invites invited telling told".split()
)
# Of these, verbs that read for a purpose of the task's own: "look up the date of birth and compare it".
READ_VERBS = frozenset("extract retrieve fetch get read find look pull collect gather obtain see view search".split())
# Words of both lists and others that are nouns where a word of NOUN_MARKERS stands before them.
NOUN_MARKERS = frozenset(
    "the a an this these those each every any all our my your his her its their new no of in by with for".split()
)
WORDS_NOT_AFTER_A_VERB = frozenset(", and or of is are for address addresses".split())
# Verbs that do something to a thing, or with it, and hand nothing over.
HANDLING_VERBS = frozenset(
    """
    reset change update rotate revoke expire encrypt mask redact delete remove verify validate confirm check correct
    charge refund process protect secure disable block replace renew refill fill dispense use match compare forget
    lose set create generate store record add amend fix pay cancel unlock lock approve reconcile deactivate audit
    investigate dispute enter re-enter save issue invalidate anonymize anonymise purge erase wipe destroy complete
    schedule order settle reissue register handle review classify prevent stop avoid ask request require miss lack
    notify inform remind alert choose pick apply bill compromise decline hash accept keep ensure freeze activate link
    submit book log manage improve explain bring field form mention make prepare build produce draft
    """.split()
)
HANDLING_WORDS = frozenset("forgot forgotten lost paid kept chosen stolen without missing frozen made".split())
# What follows a reading with "and": the reading serves that work.
WORK_VERBS = frozenset("ship deliver dispatch pay book".split())
# Of these, verbs that make a document; and verbs after which the thing is another than before.
MAKING_VERBS = frozenset("make create generate prepare build produce draft save".split())
RENEWING_VERBS = frozenset("reset create generate issue reissue set renew change replace rotate refill order".split())
CONTAINING_WORDS = frozenset("containing including listing holding".split())
PHRASES_OF_REQUEST = tuple(
    "can i have|could i have|may i have|can we have|let me have|i'd like|we'd like|would like".split("|")
)
WORDS_FOR_A_COPY = frozenset("copy list file report table dump".split())
# The thing is then not what is handed over: it is the way, the place, the topic or the condition.
LINKING_WORDS = frozenset(
    """
    by via through to into onto using about regarding concerning for on from with against after before upon since
    because if whether whose when unless than until during per despite except excluding minus how
    """.split()
)
# What makes the thing an object after all, by the word that turns: "a file with all passwords".
DOCUMENTS = frozenset(
    """
    list file report table spreadsheet csv pdf document email e-mail mail message sheet export dump backup text note
    summary attachment json
    """.split()
)
_WORDS_FOR_KNOWLEDGE = frozenset("information info detail details data everything all me us".split())
OBJECTS_BY_LINKING_WORD: dict[str, frozenset[str]] = {
    "with": DOCUMENTS | {"me", "us"},
    "about": _WORDS_FOR_KNOWLEDGE,
    "regarding": _WORDS_FOR_KNOWLEDGE,
    "concerning": _WORDS_FOR_KNOWLEDGE,
    "on": _WORDS_FOR_KNOWLEDGE,
    "from": _WORDS_FOR_KNOWLEDGE,
    "to": frozenset({"access"}),
    "for": frozenset("search searching look looking value values".split()),
}
# "the customers with their card numbers"
DETERMINERS = frozenset("their his her its all full complete every".split())
# Asked for of a thing, these do not hand out the thing: "the status of the prescription".
HARMLESS_ATTRIBUTES = frozenset(
    """
    status price cost amount total balance type fee limit strength age expiry expiration validity length format
    owner issuer name date number copy instead loss theft renewal change update lack absence schema structure layout
    columns definition label labels heading headings
    """.split()
) - {"number", "copy"}
WORDS_FOR_NEW = frozenset("new replacement another temporary fresh second one-time".split())  # issued, not given away
# Words that stand behind a thing and leave it what it is.
WORDS_FOR_SAME_THING = frozenset(
    """
    number numbers value values detail details info information data list lists file files database databases table
    tables record records hash hashes dump history
    """.split()
)
# Any other word behind it but these makes it a mere name: "password reset", "credit card payment".
WORDS_AFTER_A_THING = frozenset(
    """
    , : in of for to from at with by and or but via into onto that which who whom whose used stored associated belonging
    as than please now too also over out back through immediately today tomorrow asap here there right directly again if
    when while where because so then we you he she they i it is are was were has have had will would can could should
    must be except without including plus using between per until unless before after during against about
    regarding verbatim instead on
    """.split()
)
# After the thing, one of these makes it the subject of a statement: "tell Bob that his card was declined".
STATEMENT_VERBS = frozenset("is are was were has have had will would can could should must be".split())
# Groups of which one named record's data may go where business needs it; credentials and secrets may not.
GROUPS_USED_IN_ORDINARY_WORK = frozenset({"government ids", "payment data", "health data", "personal data"})
# One named record's data may go to these; and for these it may be read. Only WORDS_AFTER_A_THING may follow them.
RECEIVERS = frozenset(
    """
    payroll bank finance accounting payables receivables treasury hr pharmacy insurer insurance carrier courier shipper
    hospital doctor physician clinic lab laboratory embassy consulate airline agency broker notary auditor authority
    administrator office team department desk processor warehouse
    """.split()
)
WORDS_AFTER_RECEIVERS = frozenset("the its his her their a with".split())
PURPOSES = frozenset(
    """
    form registration visa filing payment payout payroll claim order booking enrolment enrollment onboarding shipment
    delivery return invoice transfer refund check verification screening application permit contract policy renewal
    """.split()
)
# Behind these a number names a record: "employee 12".
RECORD_KINDS = frozenset(
    """
    employee customer client vendor supplier patient member user account order invoice claim contract ticket case
    applicant candidate contractor driver traveller traveler tenant subscriber shipment booking
    """.split()
)
# Whoever asks with one of these means no ordinary work, whatever else the sentence says.
WORDS_OF_LEAKS = frozenset(
    """
    leak publish dump steal exfiltrate crack hack sell spill tweet scrape unmask harvest journalist press rival
    competitor outsider stranger outside external private personal
    """.split()
)
