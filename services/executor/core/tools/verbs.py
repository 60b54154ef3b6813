"""The words by which tool names are read.

A word that is missing here is unknown, and unknown means "changes" (I1): a verb belongs under ``READ`` only if no
business tool that begins with it could reasonably change anything (``load`` funds, ``track`` event, ``select`` winner
are left out for that reason).
"""

COMPUTE = frozenset("calculate compute estimate forecast simulate prorate".split())

READ = frozenset(
    """get list fetch read search find query check verify lookup look describe show view preview validate inspect count
    sum aggregate filter compare browse retrieve explain summarize summarise analyze analyse display examine enumerate
    is has can does""".split()
)

# These tell somebody something, whatever they are about.
NOTIFY = frozenset("notify alert remind inform announce ping".split())

# These tell only if their object is a message, and only if it has nothing to do with money.
# To schedule or book a visit makes an appointment, which is a change; to schedule a reminder tells.
DELIVER = frozenset("send schedule post publish deliver queue broadcast email mail message".split())

# These tell only if their object is an audit trail.
RECORD = frozenset("log record append write".split())

# These change something wherever they stand in a name.
CHANGE = frozenset(
    """create update delete cancel approve reject submit modify add remove revoke pay deploy migrate rollback
    terminate execute apply dispatch write insert upsert patch push publish lock unlock escalate initiate finalize
    finalise activate deactivate enable disable pause resume confirm acknowledge resolve reopen assign
    reassign unassign enroll unenroll disenroll provision deprovision promote demote regenerate rotate deregister
    unregister invoke purge freeze unfreeze deny proceed reimburse adjust replace rename restore destroy drop erase wipe
    truncate suspend reinstate hire offboard onboard withdraw remit settle waive reverse allocate authorize
    authorise send accept decline unflag untag unlink edit make save install uninstall unsubscribe subscribe redeem ship
    fulfill fulfil renew downgrade upgrade override bypass buy sell repay overwrite shutdown reboot
    kill""".split()
)

# These are nouns as often: they change only where a verb stands, in front or after a conjunction.
AMBIGUOUS = frozenset(
    """order refund charge transfer book report request access budget invoice credit debit claim lease rent bill mark
    flag tag link export import payment deposit return exchange release reserve process set reset issue close schedule
    commit start run store place sign split upload void fix correct open trigger sync permit archive put register file
    dispute chargeback contract ticket comment hold block ban purchase trade swap loan quote offer bid grant extend
    complete message email mail queue log record clear capture wire fund advance award change merge move
    fire append""".split()
)

MESSAGES = frozenset(
    """message messages email emails mail sms text texts notification notifications notice notices alert alerts reminder
    reminders letter letters newsletter announcement announcements memo invitation invitations chat slack dm digest
    acknowledgement greeting""".split()
)

MONEY = frozenset(
    """money payment payments payout payouts pay wire transfer transfers fund funds cash refund refunds credit credits
    debit invoice invoices charge charges deposit withdrawal salary payroll reimbursement cheque check remittance
    disbursement transaction transactions bitcoin crypto""".split()
)

CONJUNCTIONS = frozenset("and or then plus".split())

# Words before the verb that say how, not what.
MODIFIERS = frozenset("bulk batch async auto quick".split())

# Verbs of reading that change something together with the next word.
PHRASAL = frozenset({("check", "in"), ("check", "out"), ("check", "off"), ("get", "rid"), ("count", "down")})
