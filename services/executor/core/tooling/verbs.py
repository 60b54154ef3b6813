"""The words that tool names are read by: which verbs read, compute, tell and change, and which are nouns as often."""

COMPUTE = frozenset("calculate compute estimate forecast simulate project prorate convert round".split())

READ = frozenset(
    """get list fetch read search find query check verify lookup look describe show view preview validate inspect count
    sum aggregate filter compare browse retrieve load explain summarize analyze analyse audit monitor watch is has can
    diff poll peek track status head scan introspect display enumerate select test""".split()
)

NOTIFY = frozenset("notify alert remind announce message email mail ping broadcast inform page".split())

DELIVER = frozenset("send schedule post publish queue deliver".split())  # tell only with a message as their object

LOG = frozenset("log record".split())  # tell only with an audit trail as their object

# Change something wherever they stand in a name.
CHANGE = frozenset(
    """create update delete cancel approve reject submit modify set add remove revoke grant place pay issue close archive
    migrate deploy rollback terminate execute apply process dispatch trigger write insert upsert patch commit push fire
    lock unlock escalate initiate finalize finalise complete activate deactivate enable disable start stop pause resume
    confirm acknowledge resolve reopen merge split move assign unassign enroll disenroll provision deprovision promote
    demote reset regenerate rotate register deregister import upload invoke purge freeze unfreeze deny proceed dispute
    reimburse adjust replace rename restore destroy drop erase wipe truncate clear suspend reinstate hire dismiss
    offboard onboard withdraw deposit debit remit settle waive void write_off reverse reserve release allocate
    authorize authorise send schedule post publish accept decline unflag edit change make put save store sync run
    install uninstall enqueue convert_lead withhold sign unsubscribe subscribe redeem ship fulfill fulfil return
    exchange extend renew downgrade upgrade correct fix override bypass""".split()
) - {"write_off", "convert_lead"}

# Verbs that are nouns as often: they change only where a verb stands, in front or after a conjunction.
AMBIGUOUS = frozenset(
    """order refund charge transfer book report request access budget invoice credit claim lease rent
    bill mark flag tag link export payment deposit return exchange release reserve process change set issue close
    schedule post commit patch push lock start stop move run store fire place sign split drop import upload grant
    deposit debit record log file chargeback contract ticket comment vote like share hold block ban follow
    purchase buy sell trade swap loan quote offer bid estimate import_job message email mail alert page queue
    complete dispute reset void fix correct open pay trigger authorize sync audit permit access archive make put save
    register test sum count""".split()
) - {"import_job"}
